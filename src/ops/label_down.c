#include "ops/label_down.h"

#include "graph/kernel.h"

static const struct attr label_down_attr_table[] = {
    ATTR_INT(struct label_down_attrs, factor, 1, 1 << 15,
             "pixels of a side that become one"),
    {0},
};

struct tensor *label_down(struct builder *b, struct tensor *labels, int factor,
                          const char *layer)
{
    struct label_down_attrs a = {layer, factor};

    return node(b, &op_label_down, layer, &a, &labels, 1);
}

static const char *label_down_shape(struct node *n)
{
    const struct tensor *y = n->in[0];
    const struct label_down_attrs *a = n->attrs;
    int64_t dim[3];

    if (y->dtype != DTYPE_U8 || y->ndim != 3)
        return "label maps must be uint8 N x H x W";
    if (y->dim[1] % a->factor || y->dim[2] % a->factor)
        return "the factor does not divide the label map";
    for (int i = 0; i < 3; i++)
        dim[i] = i ? y->dim[i] / a->factor : y->dim[i];
    tensor_plain(n->out[0], DTYPE_U8, 3, dim);
    return NULL;
}

static void label_down_ref(const struct step *s)
{
    const struct tensor *in = s->node->in[0], *out = s->node->out[0];
    const struct label_down_attrs *a = s->node->attrs;
    const uint8_t *y = s->in[0];
    uint8_t *dst = s->out[0];
    int f = a->factor;

    for (int64_t n = 0; n < out->dim[0]; n++)
        for (int64_t h = 0; h < out->dim[1]; h++)
            for (int64_t w = 0; w < out->dim[2]; w++)
                *dst++ = y[(n * in->dim[1] + h * f + f / 2) * in->dim[2] + w * f + f / 2];
}

const struct op op_label_down = {
    .name = "label_down",
    .attrs = label_down_attr_table,
    .attrs_size = sizeof(struct label_down_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = label_down_shape,
    .ref = label_down_ref,
};
