#include "ops/conv2d.h"

#include "base/error.h"
#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/bias_grad.h"
#include "ops/image.h"
#include "ops/window.h"

static const struct attr conv2d_attr_table[] = {
    ATTR_INT(struct conv2d_attrs, out, 1, 1 << 20, "output channels"),
    ATTR_INT(struct conv2d_attrs, kernel_h, 1, 1024, "rows of the kernel"),
    ATTR_INT(struct conv2d_attrs, kernel_w, 1, 1024, "columns of the kernel"),
    ATTR_INT(struct conv2d_attrs, stride_h, 1, 1024, "rows between windows"),
    ATTR_INT(struct conv2d_attrs, stride_w, 1, 1024, "columns between windows"),
    ATTR_INT(struct conv2d_attrs, pad_h, 0, 1024, "rows of zeros above and below"),
    ATTR_INT(struct conv2d_attrs, pad_w, 0, 1024, "columns of zeros left and right"),
    ATTR_INT(struct conv2d_attrs, dilation_h, 1, 1024, "rows between taps"),
    ATTR_INT(struct conv2d_attrs, dilation_w, 1, 1024, "columns between taps"),
    ATTR_INT(struct conv2d_attrs, extra_h, 0, 1024, "rows of zeros more below"),
    ATTR_INT(struct conv2d_attrs, extra_w, 0, 1024, "columns of zeros more right"),
    ATTR_INT(struct conv2d_attrs, groups, 1, 1 << 20, "groups of channels"),
    ATTR_INT(struct conv2d_attrs, bias, 0, 1, "with a bias"),
    {0},
};

static int or_else(int value, int other)
{
    return value ? value : other;
}

/* Sets the padding before and what is more after it (timm's pad_same()). */
static void pad_same(int in, int kernel, int stride, int dilation, int *pad, int *extra)
{
    int out = (in + stride - 1) / stride;
    int all = (out - 1) * stride + (kernel - 1) * dilation + 1 - in;

    if (*pad || *extra)
        BUG("a convolution has padding and .same");
    all = all > 0 ? all : 0;
    *pad = all / 2;
    *extra = all - 2 * *pad;
}

static void conv2d_resolve(struct conv2d_attrs *a, const struct tensor *x)
{
    a->stride = or_else(a->stride, 1);
    a->dilation = or_else(a->dilation, 1);
    a->groups = or_else(a->groups, 1);
    a->kernel_h = or_else(a->kernel_h, a->kernel);
    a->kernel_w = or_else(a->kernel_w, a->kernel);
    a->stride_h = or_else(a->stride_h, a->stride);
    a->stride_w = or_else(a->stride_w, a->stride);
    a->pad_h = or_else(a->pad_h, a->padding);
    a->pad_w = or_else(a->pad_w, a->padding);
    a->dilation_h = or_else(a->dilation_h, a->dilation);
    a->dilation_w = or_else(a->dilation_w, a->dilation);
    a->init = or_else(a->init, INIT_RULE_KAIMING_NORMAL);
    a->bias_init = or_else(a->bias_init, INIT_RULE_PYTORCH);
    a->in_h = (int)x->dim[IMAGE_H];
    a->in_w = (int)x->dim[IMAGE_W];
    if (a->same) {
        pad_same(a->in_h, a->kernel_h, a->stride_h, a->dilation_h, &a->pad_h,
                 &a->extra_h);
        pad_same(a->in_w, a->kernel_w, a->stride_w, a->dilation_w, &a->pad_w,
                 &a->extra_w);
    }
}

struct tensor *conv2d_(struct builder *b, struct tensor *x, const struct conv2d_attrs *a)
{
    struct conv2d_attrs r = *a;

    conv2d_resolve(&r, x);

    int64_t taps = (int64_t)r.kernel_h * r.kernel_w, out = r.out;
    int64_t group_in = x->dim[IMAGE_C] / r.groups;
    int64_t dim[] = {out, group_in, r.kernel_h, r.kernel_w};
    enum init_rule init = (enum init_rule)r.init, bias_init = (enum init_rule)r.bias_init;
    int64_t fan_out = out * taps / (init == INIT_RULE_KAIMING_GROUPS ? r.groups : 1);
    struct tensor *in[3] = {[CONV2D_X] = x};

    in[CONV2D_WEIGHT] = graph_param(b, r.layer, "weight", LAYOUT_IMAGE, 4, dim,
                                    init_rule_init(init, group_in * taps, fan_out));
    if (r.bias)
        in[CONV2D_BIAS] =
            graph_param(b, r.layer, "bias", LAYOUT_PLAIN, 1, &out,
                        init_rule_init(bias_init, group_in * taps, out * taps));
    return node(b, &op_conv2d, r.layer, &r, in, r.bias ? 3 : 2);
}

struct tensor *conv2d_with_(struct builder *b, struct tensor *x, struct tensor *w,
                            const struct conv2d_attrs *a)
{
    struct conv2d_attrs r = *a;
    struct tensor *in[] = {[CONV2D_X] = x, [CONV2D_WEIGHT] = w};

    r.out = (int)w->dim[WEIGHT_O];
    r.kernel_h = (int)w->dim[WEIGHT_H];
    r.kernel_w = (int)w->dim[WEIGHT_W];
    conv2d_resolve(&r, x);
    return node(b, &op_conv2d, r.layer, &r, in, 2);
}

static int64_t conv2d_out_h(const struct conv2d_attrs *a)
{
    return window_count(a->in_h + a->extra_h, a->kernel_h, a->stride_h, a->pad_h,
                        a->dilation_h, false);
}

static int64_t conv2d_out_w(const struct conv2d_attrs *a)
{
    return window_count(a->in_w + a->extra_w, a->kernel_w, a->stride_w, a->pad_w,
                        a->dilation_w, false);
}

static const char *conv2d_shape(struct node *n)
{
    const struct conv2d_attrs *a = n->attrs;
    const struct tensor *x = n->in[CONV2D_X], *w = n->in[CONV2D_WEIGHT];
    int64_t out_h = conv2d_out_h(a), out_w = conv2d_out_w(a);

    if (!tensor_is_image(x) || !tensor_is_image(w))
        return "not an image";
    if (x->dim[IMAGE_C] % a->groups || a->out % a->groups)
        return "the groups do not divide the channels";
    if (x->dim[IMAGE_H] != a->in_h || x->dim[IMAGE_W] != a->in_w)
        return "in_h and in_w are not those of x";
    if (w->dim[WEIGHT_O] != a->out || w->dim[WEIGHT_H] != a->kernel_h ||
        w->dim[WEIGHT_I] != x->dim[IMAGE_C] / a->groups ||
        w->dim[WEIGHT_W] != a->kernel_w)
        return "the weights do not fit";
    if (a->bias ? n->nin != 3 || !tensor_is_vector(n->in[CONV2D_BIAS], a->out)
                : n->nin != 2)
        return "the bias does not fit";
    if (out_h <= 0 || out_w <= 0)
        return "the kernel is larger than the image";
    tensor_image(n->out[0], DTYPE_F32, x->dim[IMAGE_N], a->out, out_h, out_w);
    return NULL;
}

static void conv2d_grad(struct builder *b, const struct node *n)
{
    struct tensor *x = n->in[CONV2D_X], *w = n->in[CONV2D_WEIGHT];
    struct tensor *dy = grad_of(b, n->out[0]);
    struct tensor *for_x[] = {[CONV2D_DATA_GRAD_WEIGHT] = w, [CONV2D_DATA_GRAD_DY] = dy};
    struct tensor *for_w[] = {[CONV2D_WEIGHT_GRAD_X] = x, [CONV2D_WEIGHT_GRAD_DY] = dy};

    if (grad_wanted(w))
        grad_add(b, w, node(b, &op_conv2d_weight_grad, n->layer, n->attrs, for_w, 2));
    if (n->nin > CONV2D_BIAS && grad_wanted(n->in[CONV2D_BIAS]))
        grad_add(b, n->in[CONV2D_BIAS], bias_grad(b, dy, n->layer));
    if (grad_wanted(x)) /* last, because the next backward node reads it */
        grad_add(b, x, node(b, &op_conv2d_data_grad, n->layer, n->attrs, for_x, 2));
}

static int64_t conv2d_macs(const struct node *n)
{
    const struct tensor *w = n->in[CONV2D_WEIGHT];

    return tensor_len(n->out[0]) * (tensor_len(w) / w->dim[WEIGHT_O]);
}

static int64_t conv2d_flops(const struct node *n)
{
    return 2 * conv2d_macs(n) + (n->nin > CONV2D_BIAS ? tensor_len(n->out[0]) : 0);
}

/* Gets the input row and column under tap (kh, kw) of output (h, w); returns false for
 * padding. */
static bool conv2d_tap(const struct conv2d_attrs *a, const int64_t out[4], int kh, int kw,
                       int64_t *h, int64_t *w)
{
    *h = window_at(out[IMAGE_H], kh, a->stride_h, a->pad_h, a->dilation_h);
    *w = window_at(out[IMAGE_W], kw, a->stride_w, a->pad_w, a->dilation_w);
    return *h >= 0 && *h < a->in_h && *w >= 0 && *w < a->in_w;
}

/* y[n,o,h,w] = bias[o] + sum over i, kh, kw of x w */
static float conv2d_at(const struct step *s, const int64_t pos[4])
{
    const struct node *n = s->node;
    const struct conv2d_attrs *a = n->attrs;
    const struct tensor *tx = n->in[CONV2D_X], *tw = n->in[CONV2D_WEIGHT];
    const float *x = s->in[CONV2D_X], *weight = s->in[CONV2D_WEIGHT];
    int64_t o = pos[IMAGE_C], ni = tw->dim[WEIGHT_I], h, w;
    int64_t first = o / (a->out / a->groups) * ni;
    double sum = a->bias ? ((const float *)s->in[CONV2D_BIAS])[o] : 0;

    for (int kh = 0; kh < a->kernel_h; kh++)
        for (int kw = 0; kw < a->kernel_w; kw++) {
            if (!conv2d_tap(a, pos, kh, kw, &h, &w))
                continue;
            for (int64_t i = 0; i < ni; i++)
                sum += (double)x[image_at(tx, pos[IMAGE_N], first + i, h, w)] *
                       weight[image_at(tw, o, i, kh, kw)];
        }
    return (float)sum;
}

/* Calls `f` for each element of an image and stores its result. */
static void conv2d_each(const struct step *s,
                        float (*f)(const struct step *s, const int64_t ptr[4]))
{
    const struct tensor *t = s->node->out[0];
    float *out = s->out[0];
    int64_t ptr[4];

    for (ptr[0] = 0; ptr[0] < t->dim[0]; ptr[0]++)
        for (ptr[1] = 0; ptr[1] < t->dim[1]; ptr[1]++)
            for (ptr[2] = 0; ptr[2] < t->dim[2]; ptr[2]++)
                for (ptr[3] = 0; ptr[3] < t->dim[3]; ptr[3]++)
                    out[image_at(t, ptr[0], ptr[1], ptr[2], ptr[3])] = f(s, ptr);
}

static void conv2d_ref(const struct step *s)
{
    conv2d_each(s, conv2d_at);
}

const struct op op_conv2d = {
    .name = "conv2d",
    .attrs = conv2d_attr_table,
    .attrs_size = sizeof(struct conv2d_attrs),
    .nout = 1,
    .precision = PRECISION_HALF,
    .f32_in = 1u << CONV2D_BIAS,
    .shape = conv2d_shape,
    .grad = conv2d_grad,
    .flops = conv2d_flops,
    .macs = conv2d_macs,
    .ref = conv2d_ref,
};

static bool conv2d_dy_fits(const struct conv2d_attrs *a, const struct tensor *dy)
{
    return tensor_is_image(dy) && dy->dim[IMAGE_C] == a->out &&
           dy->dim[IMAGE_H] == conv2d_out_h(a) && dy->dim[IMAGE_W] == conv2d_out_w(a);
}

static const char *conv2d_data_grad_shape(struct node *n)
{
    const struct conv2d_attrs *a = n->attrs;
    const struct tensor *w = n->in[CONV2D_DATA_GRAD_WEIGHT];
    const struct tensor *dy = n->in[CONV2D_DATA_GRAD_DY];

    int64_t channels = w->dim[WEIGHT_I] * a->groups;

    if (!conv2d_dy_fits(a, dy))
        return "dy does not fit";
    if (n->nin > CONV2D_DATA_GRAD_BIAS &&
        !tensor_is_vector(n->in[CONV2D_DATA_GRAD_BIAS], channels))
        return "the bias does not fit";
    tensor_image(n->out[0], DTYPE_F32, dy->dim[IMAGE_N], channels, a->in_h, a->in_w);
    return NULL;
}

/* Gradient of the op as the forward op of a transposed convolution
 * (ops/conv_transpose2d.h), whose input is called dy here: the gradient of its input is a
 * conv2d without bias, that of its weights is conv2d's with x and dy exchanged. */
static void conv2d_data_grad_grad(struct builder *b, const struct node *n)
{
    struct tensor *w = n->in[CONV2D_DATA_GRAD_WEIGHT], *x = n->in[CONV2D_DATA_GRAD_DY];
    struct tensor *dy = grad_of(b, n->out[0]);
    struct tensor *for_x[] = {[CONV2D_X] = dy, [CONV2D_WEIGHT] = w};
    struct tensor *for_w[] = {[CONV2D_WEIGHT_GRAD_X] = dy, [CONV2D_WEIGHT_GRAD_DY] = x};
    struct conv2d_attrs a = *(const struct conv2d_attrs *)n->attrs;

    a.bias = 0;
    if (grad_wanted(w))
        grad_add(b, w, node(b, &op_conv2d_weight_grad, n->layer, &a, for_w, 2));
    if (n->nin > CONV2D_DATA_GRAD_BIAS && grad_wanted(n->in[CONV2D_DATA_GRAD_BIAS]))
        grad_add(b, n->in[CONV2D_DATA_GRAD_BIAS], bias_grad(b, dy, n->layer));
    if (grad_wanted(x))
        grad_add(b, x, node(b, &op_conv2d, n->layer, &a, for_x, 2));
}

static int64_t conv2d_data_grad_macs(const struct node *n)
{
    const struct tensor *w = n->in[CONV2D_DATA_GRAD_WEIGHT];

    return tensor_len(n->in[CONV2D_DATA_GRAD_DY]) * (tensor_len(w) / w->dim[WEIGHT_O]);
}

static int64_t conv2d_data_grad_flops(const struct node *n)
{
    return 2 * conv2d_data_grad_macs(n) +
           (n->nin > CONV2D_DATA_GRAD_BIAS ? tensor_len(n->out[0]) : 0);
}

/* Returns the output whose tap k lies on input position `in`, or -1. */
static int64_t conv2d_reader(int64_t in, int k, int stride, int pad, int dilation,
                             int64_t out)
{
    int64_t pos = in + pad - (int64_t)k * dilation;

    return pos >= 0 && pos % stride == 0 && pos / stride < out ? pos / stride : -1;
}

/* dx[n,c,h,w] = sum of dy w over all outputs that read x[n,c,h,w] */
static float conv2d_data_grad_at(const struct step *s, const int64_t pos[4])
{
    const struct node *n = s->node;
    const struct conv2d_attrs *a = n->attrs;
    const struct tensor *tw = n->in[CONV2D_DATA_GRAD_WEIGHT];
    const struct tensor *ty = n->in[CONV2D_DATA_GRAD_DY];
    const float *weight = s->in[CONV2D_DATA_GRAD_WEIGHT];
    const float *dy = s->in[CONV2D_DATA_GRAD_DY];
    int64_t ni = tw->dim[WEIGHT_I], no = a->out / a->groups;
    int64_t first = pos[IMAGE_C] / ni * no, i = pos[IMAGE_C] % ni;
    double sum = 0;

    if (n->nin > CONV2D_DATA_GRAD_BIAS)
        sum = ((const float *)s->in[CONV2D_DATA_GRAD_BIAS])[pos[IMAGE_C]];

    for (int kh = 0; kh < a->kernel_h; kh++)
        for (int kw = 0; kw < a->kernel_w; kw++) {
            int64_t h = conv2d_reader(pos[IMAGE_H], kh, a->stride_h, a->pad_h,
                                      a->dilation_h, ty->dim[IMAGE_H]);
            int64_t w = conv2d_reader(pos[IMAGE_W], kw, a->stride_w, a->pad_w,
                                      a->dilation_w, ty->dim[IMAGE_W]);

            if (h < 0 || w < 0)
                continue;
            for (int64_t o = first; o < first + no; o++)
                sum += (double)dy[image_at(ty, pos[IMAGE_N], o, h, w)] *
                       weight[image_at(tw, o, i, kh, kw)];
        }
    return (float)sum;
}

static void conv2d_data_grad_ref(const struct step *s)
{
    conv2d_each(s, conv2d_data_grad_at);
}

const struct op op_conv2d_data_grad = {
    .name = "conv2d_data_grad",
    .attrs = conv2d_attr_table,
    .attrs_size = sizeof(struct conv2d_attrs),
    .nout = 1,
    .precision = PRECISION_HALF,
    .f32_in = 1u << CONV2D_DATA_GRAD_BIAS,
    .shape = conv2d_data_grad_shape,
    .grad = conv2d_data_grad_grad,
    .flops = conv2d_data_grad_flops,
    .macs = conv2d_data_grad_macs,
    .ref = conv2d_data_grad_ref,
};

static const char *conv2d_weight_grad_shape(struct node *n)
{
    const struct conv2d_attrs *a = n->attrs;
    const struct tensor *x = n->in[CONV2D_WEIGHT_GRAD_X];

    if (!tensor_is_image(x) || !conv2d_dy_fits(a, n->in[CONV2D_WEIGHT_GRAD_DY]))
        return "x or dy does not fit";
    tensor_image(n->out[0], DTYPE_F32, a->out, x->dim[IMAGE_C] / a->groups, a->kernel_h,
                 a->kernel_w);
    return NULL;
}

static int64_t conv2d_weight_grad_flops(const struct node *n)
{
    const struct tensor *dw = n->out[0];

    return 2 * tensor_len(n->in[CONV2D_WEIGHT_GRAD_DY]) *
           (tensor_len(dw) / dw->dim[WEIGHT_O]);
}

/* dw[o,i,kh,kw] = sum of x dy over n and all positions of y */
static float conv2d_weight_grad_at(const struct step *s, const int64_t pos[4])
{
    const struct node *n = s->node;
    const struct conv2d_attrs *a = n->attrs;
    const struct tensor *tx = n->in[CONV2D_WEIGHT_GRAD_X];
    const struct tensor *ty = n->in[CONV2D_WEIGHT_GRAD_DY];
    const float *x = s->in[CONV2D_WEIGHT_GRAD_X], *dy = s->in[CONV2D_WEIGHT_GRAD_DY];
    int64_t y[4] = {0}, o = pos[WEIGHT_O], h, w;
    int64_t c = o / (a->out / a->groups) * n->out[0]->dim[WEIGHT_I] + pos[WEIGHT_I];
    double sum = 0;

    for (y[0] = 0; y[0] < ty->dim[0]; y[0]++)
        for (y[2] = 0; y[2] < ty->dim[2]; y[2]++)
            for (y[3] = 0; y[3] < ty->dim[3]; y[3]++)
                if (conv2d_tap(a, y, (int)pos[WEIGHT_H], (int)pos[WEIGHT_W], &h, &w))
                    sum += (double)x[image_at(tx, y[0], c, h, w)] *
                           dy[image_at(ty, y[0], o, y[2], y[3])];
    return (float)sum;
}

static void conv2d_weight_grad_ref(const struct step *s)
{
    conv2d_each(s, conv2d_weight_grad_at);
}

const struct op op_conv2d_weight_grad = {
    .name = "conv2d_weight_grad",
    .attrs = conv2d_attr_table,
    .attrs_size = sizeof(struct conv2d_attrs),
    .nout = 1,
    .precision = PRECISION_HALF,
    .f32_out = 1u << 0,
    .shape = conv2d_weight_grad_shape,
    .flops = conv2d_weight_grad_flops,
    .ref = conv2d_weight_grad_ref,
};
