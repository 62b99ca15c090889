#include "graph/kernel.h"
#include "ops/conv2d.h"
#include "ops/image.h"
#include "ops/qlayer.h"
#include "ops/quantize.h"
#include "ops/window.h"

static const struct attr qconv2d_attr_table[] = {
    ATTR_INT(struct conv2d_attrs, out, 1, 1 << 20, "output channels"),
    ATTR_INT(struct conv2d_attrs, groups, 1, 1 << 20, "groups of channels"),
    {0},
};

const char *qlayer_check(const struct node *n, int64_t out)
{
    const struct node *src = n->in[QLAYER_X]->producer;

    if (!src || src->op != &op_quantize)
        return "x must be quantized";
    if (!tensor_is_vector(n->in[QLAYER_WEIGHT_SCALE], out))
        return "the weights need a scale for each channel";
    if (!tensor_is_vector(n->in[QLAYER_INPUT_SCALE], 1))
        return "x needs one scale";
    if (n->nin > QLAYER_BIAS && !tensor_is_vector(n->in[QLAYER_BIAS], out))
        return "the bias does not fit";
    return NULL;
}

bool qlayer_is_unsigned(const struct node *n)
{
    const struct quantize_attrs *a = n->in[QLAYER_X]->producer->attrs;

    return a->is_unsigned;
}

struct tensor *qconv2d_(struct builder *b, const struct conv2d_attrs *a,
                        struct tensor *const *in, int nin)
{
    return node(b, &op_qconv2d, a->layer, a, in, nin);
}

static const char *qconv2d_shape(struct node *n)
{
    const struct conv2d_attrs *a = n->attrs;
    const struct tensor *x = n->in[QLAYER_X], *w = n->in[QLAYER_WEIGHT];
    const char *why = qlayer_check(n, a->out);
    int64_t h = window_count(x->dim[IMAGE_H] + a->extra_h, a->kernel_h, a->stride_h,
                             a->pad_h, a->dilation_h, false);
    int64_t v = window_count(x->dim[IMAGE_W] + a->extra_w, a->kernel_w, a->stride_w,
                             a->pad_w, a->dilation_w, false);

    if (why)
        return why;
    if (!tensor_is_image(x) || !tensor_is_image(w))
        return "not an image";
    if (x->dim[IMAGE_C] % a->groups || a->out % a->groups)
        return "the groups do not divide the channels";
    if (w->dim[WEIGHT_O] != a->out || w->dim[WEIGHT_I] != x->dim[IMAGE_C] / a->groups ||
        w->dim[WEIGHT_H] != a->kernel_h || w->dim[WEIGHT_W] != a->kernel_w)
        return "the weights do not fit";
    if (h <= 0 || v <= 0)
        return "the kernel is larger than the image";
    tensor_image(n->out[0], DTYPE_F32, x->dim[IMAGE_N], a->out, h, v);
    return NULL;
}

static int64_t qconv2d_macs(const struct node *n)
{
    const struct tensor *w = n->in[QLAYER_WEIGHT];

    return tensor_len(n->out[0]) * (tensor_len(w) / w->dim[WEIGHT_O]);
}

static int64_t qconv2d_flops(const struct node *n)
{
    return 2 * (qconv2d_macs(n) + tensor_len(n->out[0]));
}

/* Returns the sum under one window; `ptr` is n, o, h, w of the result. */
static int64_t qconv2d_sum(const struct step *s, const int64_t ptr[4])
{
    const struct conv2d_attrs *a = s->node->attrs;
    const struct tensor *tx = s->node->in[QLAYER_X], *tw = s->node->in[QLAYER_WEIGHT];
    const float *weight = s->in[QLAYER_WEIGHT];
    int64_t ni = tw->dim[WEIGHT_I], o = ptr[IMAGE_C],
            first = o / (a->out / a->groups) * ni;
    bool is_unsigned = qlayer_is_unsigned(s->node);
    int64_t sum = 0;

    for (int kh = 0; kh < a->kernel_h; kh++)
        for (int kw = 0; kw < a->kernel_w; kw++) {
            int64_t h = window_at(ptr[IMAGE_H], kh, a->stride_h, a->pad_h, a->dilation_h);
            int64_t w = window_at(ptr[IMAGE_W], kw, a->stride_w, a->pad_w, a->dilation_w);

            if (h < 0 || h >= tx->dim[IMAGE_H] || w < 0 || w >= tx->dim[IMAGE_W])
                continue;
            for (int64_t i = 0; i < ni; i++)
                sum += qlayer_byte(s->in[QLAYER_X], is_unsigned,
                                   image_at(tx, ptr[IMAGE_N], first + i, h, w)) *
                       (int64_t)weight[image_at(tw, o, i, kh, kw)];
        }
    return sum;
}

static void qconv2d_ref(const struct step *s)
{
    const struct tensor *ty = s->node->out[0];
    const float *scale = s->in[QLAYER_WEIGHT_SCALE], *x = s->in[QLAYER_INPUT_SCALE];
    const float *bias = s->node->nin > QLAYER_BIAS ? s->in[QLAYER_BIAS] : NULL;
    float *y = s->out[0];
    int64_t pos[4];

    for (pos[0] = 0; pos[0] < ty->dim[0]; pos[0]++)
        for (pos[1] = 0; pos[1] < ty->dim[1]; pos[1]++)
            for (pos[2] = 0; pos[2] < ty->dim[2]; pos[2]++)
                for (pos[3] = 0; pos[3] < ty->dim[3]; pos[3]++)
                    y[image_at(ty, pos[0], pos[1], pos[2], pos[3])] = qlayer_result(
                        qconv2d_sum(s, pos), *x, scale[pos[1]], bias, pos[1]);
}

const struct op op_qconv2d = {
    .name = "qconv2d",
    .attrs = qconv2d_attr_table,
    .attrs_size = sizeof(struct conv2d_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = qconv2d_shape,
    .flops = qconv2d_flops,
    .macs = qconv2d_macs,
    .ref = qconv2d_ref,
};
