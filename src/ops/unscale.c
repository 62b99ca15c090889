#include "ops/unscale.h"

#include "graph/kernel.h"
#include "ops/image.h"

struct tensor *unscale(struct builder *b, struct tensor *values, struct tensor *mean,
                       struct tensor *std, const char *layer)
{
    struct tensor *in[] = {
        [UNSCALE_VALUES] = values, [UNSCALE_MEAN] = mean, [UNSCALE_STD] = std};

    return node(b, &op_unscale, layer, NULL, in, 3);
}

static const char *unscale_shape(struct node *n)
{
    const struct tensor *z = n->in[UNSCALE_VALUES];

    if (z->layout != LAYOUT_PLAIN || z->ndim != 2)
        return "values must be N x T";
    if (!tensor_is_vector(n->in[UNSCALE_MEAN], z->dim[1]) ||
        !tensor_is_vector(n->in[UNSCALE_STD], z->dim[1]))
        return "one mean and one deviation for each target are needed";
    tensor_plain(n->out[0], DTYPE_F32, 2, z->dim);
    return NULL;
}

static int64_t unscale_flops(const struct node *n)
{
    return 2 * tensor_len(n->out[0]);
}

static void unscale_ref(const struct step *s)
{
    const float *z = s->in[UNSCALE_VALUES], *mean = s->in[UNSCALE_MEAN];
    const float *std = s->in[UNSCALE_STD];
    int64_t targets = s->node->out[0]->dim[1];
    float *y = s->out[0];

    for (int64_t i = 0; i < tensor_len(s->node->out[0]); i++)
        y[i] =
            (float)((double)z[i] * (double)std[i % targets] + (double)mean[i % targets]);
}

const struct op op_unscale = {
    .name = "unscale",
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = unscale_shape,
    .flops = unscale_flops,
    .ref = unscale_ref,
};
