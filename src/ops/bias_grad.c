#include "ops/bias_grad.h"

#include "graph/kernel.h"
#include "ops/image.h"

struct tensor *bias_grad(struct builder *b, struct tensor *dy, const char *layer)
{
    return node(b, &op_bias_grad, layer, NULL, &dy, 1);
}

static const char *bias_grad_shape(struct node *n)
{
    int64_t channels = tensor_channels(n->in[BIAS_GRAD_DY]);

    tensor_plain(n->out[0], DTYPE_F32, 1, &channels);
    return NULL;
}

static int64_t bias_grad_flops(const struct node *n)
{
    return tensor_len(n->in[BIAS_GRAD_DY]);
}

static void bias_grad_ref(const struct step *s)
{
    const float *dy = s->in[BIAS_GRAD_DY];
    float *db = s->out[0];
    int64_t channels = tensor_len(s->node->out[0]);

    for (int64_t c = 0; c < channels; c++) {
        double sum = 0;

        for (int64_t i = c; i < tensor_len(s->node->in[BIAS_GRAD_DY]); i += channels)
            sum += dy[i];
        db[c] = (float)sum;
    }
}

const struct op op_bias_grad = {
    .name = "bias_grad",
    .nout = 1,
    .precision = PRECISION_HALF, /* reads dy as the weight gradient does */
    .f32_out = 1u << 0,
    .shape = bias_grad_shape,
    .flops = bias_grad_flops,
    .ref = bias_grad_ref,
};
