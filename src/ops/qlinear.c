#include "graph/kernel.h"
#include "ops/image.h"
#include "ops/linear.h"
#include "ops/qlayer.h"

static const struct attr qlinear_attr_table[] = {
    ATTR_INT(struct linear_attrs, out, 1, 1 << 20, "output features"),
    {0},
};

struct tensor *qlinear_(struct builder *b, const struct linear_attrs *a,
                        struct tensor *const *in, int nin)
{
    return node(b, &op_qlinear, a->layer, a, in, nin);
}

static const char *qlinear_shape(struct node *n)
{
    const struct linear_attrs *a = n->attrs;
    const struct tensor *x = n->in[QLAYER_X], *w = n->in[QLAYER_WEIGHT];
    const char *why = qlayer_check(n, a->out);
    int64_t dim[TENSOR_DIMS];

    if (why)
        return why;
    if (tensor_is_image(x) && (x->dim[IMAGE_H] != 1 || x->dim[IMAGE_W] != 1))
        return "an image must be pooled to 1 x 1 first";
    if (w->ndim != 2 || w->dim[0] != a->out || w->dim[1] != tensor_channels(x))
        return "the weights do not fit";
    for (int i = 0; i < x->ndim; i++)
        dim[i] = x->dim[i];
    dim[tensor_is_image(x) ? 1 : x->ndim - 1] = a->out;
    tensor_plain(n->out[0], DTYPE_F32, tensor_is_image(x) ? 2 : x->ndim, dim);
    return NULL;
}

static int64_t qlinear_macs(const struct node *n)
{
    return tensor_len(n->out[0]) * tensor_channels(n->in[QLAYER_X]);
}

static int64_t qlinear_flops(const struct node *n)
{
    return 2 * (qlinear_macs(n) + tensor_len(n->out[0]));
}

static void qlinear_ref(const struct step *s)
{
    const struct tensor *tx = s->node->in[QLAYER_X];
    const struct linear_attrs *a = s->node->attrs;
    const float *w = s->in[QLAYER_WEIGHT], *scale = s->in[QLAYER_WEIGHT_SCALE];
    const float *bias = s->node->nin > QLAYER_BIAS ? s->in[QLAYER_BIAS] : NULL;
    const float *x_scale = s->in[QLAYER_INPUT_SCALE];
    int64_t features = tensor_channels(tx);
    bool is_unsigned = qlayer_is_unsigned(s->node);
    float *y = s->out[0];

    for (int64_t pos = 0; pos < tensor_len(s->node->out[0]); pos++) {
        int64_t row = pos / a->out, o = pos % a->out, sum = 0;

        for (int64_t f = 0; f < features; f++)
            sum += qlayer_byte(s->in[QLAYER_X], is_unsigned, row * features + f) *
                   (int64_t)w[o * features + f];
        y[pos] = qlayer_result(sum, *x_scale, scale[o], bias, o);
    }
}

const struct op op_qlinear = {
    .name = "qlinear",
    .attrs = qlinear_attr_table,
    .attrs_size = sizeof(struct linear_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = qlinear_shape,
    .flops = qlinear_flops,
    .macs = qlinear_macs,
    .ref = qlinear_ref,
};
