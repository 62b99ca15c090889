#include "ops/softmax.h"

#include <math.h>

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"

struct tensor *softmax(struct builder *b, struct tensor *x, const char *layer)
{
    return node(b, &op_softmax, layer, NULL, &x, 1);
}

static const char *softmax_shape(struct node *n)
{
    if (tensor_is_image(n->in[SOFTMAX_X]))
        return "an image: view_tokens() first";
    tensor_like(n->out[0], n->in[SOFTMAX_X]);
    return NULL;
}

static void softmax_node_grad(struct builder *b, const struct node *n)
{
    struct tensor *in[] = {
        [SOFTMAX_GRAD_Y] = n->out[0], [SOFTMAX_GRAD_DY] = grad_of(b, n->out[0])};

    grad_add(b, n->in[SOFTMAX_X], node(b, &op_softmax_grad, n->layer, NULL, in, 2));
}

/* the maximum, difference, exponential, sum, and quotient */
static int64_t softmax_flops(const struct node *n)
{
    return 5 * tensor_len(n->out[0]);
}

static void softmax_ref(const struct step *s)
{
    int64_t len = tensor_channels(s->node->out[0]);
    const float *x = s->in[SOFTMAX_X];
    float *y = s->out[0];

    for (int64_t i = 0; i < tensor_len(s->node->out[0]); i += len) {
        double max = (double)x[i], sum = 0;

        for (int64_t k = 1; k < len; k++)
            max = (double)x[i + k] > max ? (double)x[i + k] : max;
        for (int64_t k = 0; k < len; k++)
            sum += exp((double)x[i + k] - max);
        for (int64_t k = 0; k < len; k++)
            y[i + k] = (float)(exp((double)x[i + k] - max) / sum);
    }
}

const struct op op_softmax = {
    .name = "softmax",
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = softmax_shape,
    .grad = softmax_node_grad,
    .flops = softmax_flops,
    .ref = softmax_ref,
};

static const char *softmax_grad_shape(struct node *n)
{
    if (!tensor_same(n->in[SOFTMAX_GRAD_Y], n->in[SOFTMAX_GRAD_DY]))
        return "y and dy differ";
    tensor_like(n->out[0], n->in[SOFTMAX_GRAD_DY]);
    return NULL;
}

static int64_t softmax_grad_flops(const struct node *n)
{
    return 4 * tensor_len(n->out[0]);
}

static void softmax_grad_ref(const struct step *s)
{
    int64_t len = tensor_channels(s->node->out[0]);
    const float *y = s->in[SOFTMAX_GRAD_Y], *dy = s->in[SOFTMAX_GRAD_DY];
    float *dx = s->out[0];

    for (int64_t i = 0; i < tensor_len(s->node->out[0]); i += len) {
        double sum = 0;

        for (int64_t k = 0; k < len; k++)
            sum += (double)y[i + k] * (double)dy[i + k];
        for (int64_t k = 0; k < len; k++)
            dx[i + k] = (float)((double)y[i + k] * ((double)dy[i + k] - sum));
    }
}

const struct op op_softmax_grad = {
    .name = "softmax_grad",
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = softmax_grad_shape,
    .flops = softmax_grad_flops,
    .ref = softmax_grad_ref,
};
