#include "ops/quantize.h"

#include "graph/kernel.h"
#include "ops/image.h"
#include "ops/quantize_formula.h"

static const struct attr quantize_attr_table[] = {
    ATTR_INT(struct quantize_attrs, is_unsigned, 0, 1, "uint8, else int8"),
    {0},
};

struct tensor *quantize_(struct builder *b, struct tensor *x, struct tensor *scale,
                         const struct quantize_attrs *a)
{
    struct tensor *in[] = {[QUANTIZE_X] = x, [QUANTIZE_SCALE] = scale};

    return node(b, &op_quantize, a->layer, a, in, 2);
}

static const char *quantize_shape(struct node *n)
{
    if (!tensor_is_vector(n->in[QUANTIZE_SCALE], 1))
        return "the scale must be one number";
    tensor_like(n->out[0], n->in[QUANTIZE_X]);
    n->out[0]->dtype = DTYPE_U8;
    return NULL;
}

static int64_t quantize_flops(const struct node *n)
{
    return tensor_len(n->out[0]);
}

static void quantize_ref(const struct step *s)
{
    const struct quantize_attrs *a = s->node->attrs;
    const float *x = s->in[QUANTIZE_X], *scale = s->in[QUANTIZE_SCALE];
    int64_t n = tensor_len(s->node->out[0]);

    for (int64_t i = 0; i < n; i++)
        if (a->is_unsigned)
            ((uint8_t *)s->out[0])[i] =
                (uint8_t)quantize_element(x[i], *scale, 0, QUANTIZE_MAX_U8);
        else
            ((int8_t *)s->out[0])[i] =
                (int8_t)quantize_element(x[i], *scale, QUANTIZE_MIN_I8, QUANTIZE_MAX_I8);
}

const struct op op_quantize = {
    .name = "quantize",
    .attrs = quantize_attr_table,
    .attrs_size = sizeof(struct quantize_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .f32_in = 1u << QUANTIZE_SCALE,
    .shape = quantize_shape,
    .flops = quantize_flops,
    .ref = quantize_ref,
};
