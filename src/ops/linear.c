#include "ops/linear.h"

#include <string.h>

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/bias_grad.h"
#include "ops/image.h"

static const struct attr linear_attr_table[] = {
    ATTR_INT(struct linear_attrs, out, 1, 1 << 20, "output features"),
    ATTR_INT(struct linear_attrs, bias, 0, 1, "with a bias"),
    {0},
};

static struct tensor *linear_param(struct builder *b, const struct linear_attrs *a,
                                   const char *name, int rule, int ndim,
                                   const int64_t *dim, int64_t fan_in)
{
    bool kaiming = rule == INIT_RULE_KAIMING_NORMAL || rule == INIT_RULE_KAIMING_UNIFORM;

    if (rule == INIT_RULE_DEFAULT)
        rule = INIT_RULE_PYTORCH;
    return graph_param(
        b, a->layer, name, LAYOUT_PLAIN, ndim, dim,
        init_rule_init((enum init_rule)rule, fan_in, kaiming ? fan_in : a->out));
}

/* `bias`: computed elsewhere; NULL: the layer's own bias, if it has one. */
static struct tensor *linear_node(struct builder *b, struct tensor *x,
                                  struct tensor *bias, const struct linear_attrs *a)
{
    struct linear_attrs r = *a;
    int64_t in_features = tensor_channels(x), dim[] = {r.out, in_features};
    struct tensor *in[3] = {[LINEAR_X] = x};

    r.image = tensor_is_image(x);
    in[LINEAR_WEIGHT] = linear_param(b, a, "weight", r.init, 2, dim, in_features);
    in[LINEAR_BIAS] = bias;
    if (r.bias && !bias)
        in[LINEAR_BIAS] = linear_param(b, a, "bias", r.bias_init, 1, dim, in_features);
    r.bias = in[LINEAR_BIAS] != NULL;
    return node(b, &op_linear, r.layer, &r, in, r.bias ? 3 : 2);
}

struct tensor *linear_(struct builder *b, struct tensor *x, const struct linear_attrs *a)
{
    return linear_node(b, x, NULL, a);
}

struct tensor *linear_bias_(struct builder *b, struct tensor *x, struct tensor *bias,
                            const struct linear_attrs *a)
{
    return linear_node(b, x, bias, a);
}

/* Shapes t like x with another number of features. */
static void linear_like(struct tensor *t, const struct tensor *x, int64_t features)
{
    int64_t dim[TENSOR_DIMS];

    if (tensor_is_image(x)) {
        dim[0] = x->dim[IMAGE_N], dim[1] = features;
        tensor_plain(t, DTYPE_F32, 2, dim);
        return;
    }
    memcpy(dim, x->dim, sizeof(dim));
    dim[x->ndim - 1] = features;
    tensor_plain(t, DTYPE_F32, x->ndim, dim);
}

static const char *linear_shape(struct node *n)
{
    const struct linear_attrs *a = n->attrs;
    const struct tensor *x = n->in[LINEAR_X], *w = n->in[LINEAR_WEIGHT];

    if (tensor_is_image(x) && (x->dim[IMAGE_H] != 1 || x->dim[IMAGE_W] != 1))
        return "an image must be pooled to 1 x 1 first";
    if (w->ndim != 2 || w->dim[0] != a->out || w->dim[1] != tensor_channels(x))
        return "the weights do not fit";
    if (a->bias ? n->nin != 3 || !tensor_is_vector(n->in[LINEAR_BIAS], a->out)
                : n->nin != 2)
        return "the bias does not fit";
    linear_like(n->out[0], x, a->out);
    return NULL;
}

static void linear_grad(struct builder *b, const struct node *n)
{
    struct tensor *x = n->in[LINEAR_X], *w = n->in[LINEAR_WEIGHT];
    struct tensor *dy = grad_of(b, n->out[0]);
    struct tensor *for_x[] = {[LINEAR_DATA_GRAD_WEIGHT] = w, [LINEAR_DATA_GRAD_DY] = dy};
    struct tensor *for_w[] = {[LINEAR_WEIGHT_GRAD_X] = x, [LINEAR_WEIGHT_GRAD_DY] = dy};

    if (grad_wanted(w))
        grad_add(b, w, node(b, &op_linear_weight_grad, n->layer, n->attrs, for_w, 2));
    if (n->nin > LINEAR_BIAS && grad_wanted(n->in[LINEAR_BIAS]))
        grad_add(b, n->in[LINEAR_BIAS], bias_grad(b, dy, n->layer));
    if (grad_wanted(x))
        grad_add(b, x, node(b, &op_linear_data_grad, n->layer, n->attrs, for_x, 2));
}

static int64_t linear_macs(const struct node *n)
{
    return tensor_len(n->out[0]) * tensor_channels(n->in[LINEAR_X]);
}

static int64_t linear_flops(const struct node *n)
{
    return 2 * linear_macs(n) + (n->nin > LINEAR_BIAS ? tensor_len(n->out[0]) : 0);
}

static void linear_ref(const struct step *s)
{
    const struct linear_attrs *a = s->node->attrs;
    const float *x = s->in[LINEAR_X], *w = s->in[LINEAR_WEIGHT];
    const float *bias = a->bias ? s->in[LINEAR_BIAS] : NULL;
    float *y = s->out[0];
    int64_t features = tensor_channels(s->node->in[LINEAR_X]);

    for (int64_t pos = 0; pos < tensor_len(s->node->out[0]); pos++) {
        int64_t row = pos / a->out, o = pos % a->out;
        double sum = bias ? bias[o] : 0;

        for (int64_t f = 0; f < features; f++)
            sum += (double)x[row * features + f] * w[o * features + f];
        y[pos] = (float)sum;
    }
}

const struct op op_linear = {
    .name = "linear",
    .attrs = linear_attr_table,
    .attrs_size = sizeof(struct linear_attrs),
    .nout = 1,
    .precision = PRECISION_HALF,
    .f32_in = 1u << LINEAR_BIAS,
    .shape = linear_shape,
    .grad = linear_grad,
    .flops = linear_flops,
    .macs = linear_macs,
    .ref = linear_ref,
};

static const char *linear_data_grad_shape(struct node *n)
{
    const struct linear_attrs *a = n->attrs;
    const struct tensor *w = n->in[LINEAR_DATA_GRAD_WEIGHT];
    const struct tensor *dy = n->in[LINEAR_DATA_GRAD_DY];

    if (tensor_is_image(dy) || w->ndim != 2 || tensor_channels(dy) != w->dim[0])
        return "dy does not fit";
    if (a->image)
        tensor_image(n->out[0], DTYPE_F32, dy->dim[0], w->dim[1], 1, 1);
    else
        linear_like(n->out[0], dy, w->dim[1]);
    return NULL;
}

static int64_t linear_data_grad_flops(const struct node *n)
{
    return 2 * tensor_len(n->out[0]) * tensor_channels(n->in[LINEAR_DATA_GRAD_DY]);
}

/* dx = dy W */
static void linear_data_grad_ref(const struct step *s)
{
    const float *w = s->in[LINEAR_DATA_GRAD_WEIGHT], *dy = s->in[LINEAR_DATA_GRAD_DY];
    float *dx = s->out[0];
    int64_t features = s->node->in[LINEAR_DATA_GRAD_WEIGHT]->dim[1];
    int64_t outs = s->node->in[LINEAR_DATA_GRAD_WEIGHT]->dim[0];

    for (int64_t pos = 0; pos < tensor_len(s->node->out[0]); pos++) {
        int64_t row = pos / features, f = pos % features;
        double sum = 0;

        for (int64_t o = 0; o < outs; o++)
            sum += (double)dy[row * outs + o] * w[o * features + f];
        dx[pos] = (float)sum;
    }
}

const struct op op_linear_data_grad = {
    .name = "linear_data_grad",
    .attrs = linear_attr_table,
    .attrs_size = sizeof(struct linear_attrs),
    .nout = 1,
    .precision = PRECISION_HALF,
    .shape = linear_data_grad_shape,
    .flops = linear_data_grad_flops,
    .ref = linear_data_grad_ref,
};

static const char *linear_weight_grad_shape(struct node *n)
{
    const struct tensor *x = n->in[LINEAR_WEIGHT_GRAD_X];
    const struct tensor *dy = n->in[LINEAR_WEIGHT_GRAD_DY];
    int64_t dim[] = {tensor_channels(dy), tensor_channels(x)};

    if (tensor_len(x) / dim[1] != tensor_len(dy) / dim[0])
        return "x and dy have different numbers of rows";
    tensor_plain(n->out[0], DTYPE_F32, 2, dim);
    return NULL;
}

static int64_t linear_weight_grad_flops(const struct node *n)
{
    return 2 * tensor_len(n->in[LINEAR_WEIGHT_GRAD_DY]) * n->out[0]->dim[1];
}

/* dW = dy^T x */
static void linear_weight_grad_ref(const struct step *s)
{
    const struct tensor *dw_tensor = s->node->out[0];
    const float *x = s->in[LINEAR_WEIGHT_GRAD_X], *dy = s->in[LINEAR_WEIGHT_GRAD_DY];
    float *dw = s->out[0];
    int64_t outs = dw_tensor->dim[0], features = dw_tensor->dim[1];
    int64_t rows = tensor_len(s->node->in[LINEAR_WEIGHT_GRAD_X]) / features;

    for (int64_t pos = 0; pos < tensor_len(dw_tensor); pos++) {
        int64_t o = pos / features, f = pos % features;
        double sum = 0;

        for (int64_t row = 0; row < rows; row++)
            sum += (double)dy[row * outs + o] * x[row * features + f];
        dw[pos] = (float)sum;
    }
}

const struct op op_linear_weight_grad = {
    .name = "linear_weight_grad",
    .attrs = linear_attr_table,
    .attrs_size = sizeof(struct linear_attrs),
    .nout = 1,
    .precision = PRECISION_HALF,
    .f32_out = 1u << 0,
    .shape = linear_weight_grad_shape,
    .flops = linear_weight_grad_flops,
    .ref = linear_weight_grad_ref,
};
