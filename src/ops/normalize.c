#include "ops/normalize.h"

#include "graph/kernel.h"
#include "ops/image.h"
#include "ops/pointwise.h"

struct tensor *normalize_(struct builder *b, struct tensor *x,
                          const struct normalize_attrs *a)
{
    return node(b, &op_normalize, a->layer, a, &x, 1);
}

static const char *normalize_shape(struct node *n)
{
    const struct normalize_attrs *a = n->attrs;
    const struct tensor *x = n->in[NORMALIZE_X];

    if (!tensor_is_image(x) || x->dtype != DTYPE_U8)
        return "not an image of bytes";
    if (x->dim[IMAGE_C] > NORMALIZE_CHANNELS)
        return "more than 32 channels";
    for (int64_t c = 0; c < x->dim[IMAGE_C]; c++) {
        if (!(a->std[c] > 0))
            return "std must be positive";
        if (!(a->mean[c] >= 0 && a->mean[c] <= 1))
            return "mean must lie in [0, 1]";
    }
    tensor_like(n->out[0], x);
    n->out[0]->dtype = DTYPE_F32;
    return NULL;
}

static int64_t normalize_flops(const struct node *n)
{
    return 2 * tensor_len(n->out[0]);
}

static void normalize_ref(const struct step *s)
{
    const struct normalize_attrs *a = s->node->attrs;
    const uint8_t *x = s->in[NORMALIZE_X];
    float *y = s->out[0];
    int64_t channels = s->node->out[0]->dim[IMAGE_C];

    for (int64_t i = 0; i < tensor_len(s->node->out[0]); i++) {
        int64_t c = i % channels;

        y[i] = normalize_value(x[i], normalize_scale(a->std[c]),
                               normalize_shift(a->mean[c], a->std[c]));
    }
}

const struct op op_normalize = {
    .name = "normalize",
    .attrs_size = sizeof(struct normalize_attrs),
    .nout = 1,
    .precision = PRECISION_HALF,
    .shape = normalize_shape,
    .flops = normalize_flops,
    .ref = normalize_ref,
};
