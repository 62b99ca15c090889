#include "ops/sigmoid.h"

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/pointwise.h"

struct tensor *sigmoid(struct builder *b, struct tensor *x, const char *layer)
{
    return node(b, &op_sigmoid, layer, NULL, &x, 1);
}

static const char *sigmoid_shape(struct node *n)
{
    tensor_like(n->out[0], n->in[SIGMOID_X]);
    return NULL;
}

static void sigmoid_grad(struct builder *b, const struct node *n)
{
    struct tensor *y = n->out[0];
    struct tensor *in[] = {[SIGMOID_GRAD_Y] = y, [SIGMOID_GRAD_DY] = grad_of(b, y)};

    grad_add(b, n->in[SIGMOID_X], node(b, &op_sigmoid_grad, n->layer, NULL, in, 2));
}

/* exp, add, divide */
static int64_t sigmoid_flops(const struct node *n)
{
    return 3 * tensor_len(n->out[0]);
}

static void sigmoid_ref(const struct step *s)
{
    const float *x = s->in[SIGMOID_X];
    float *y = s->out[0];

    for (int64_t i = 0; i < tensor_len(s->node->out[0]); i++)
        y[i] = sigmoid_value(x[i]);
}

const struct op op_sigmoid = {
    .name = "sigmoid",
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = sigmoid_shape,
    .grad = sigmoid_grad,
    .flops = sigmoid_flops,
    .ref = sigmoid_ref,
};

static const char *sigmoid_grad_shape(struct node *n)
{
    if (!tensor_same(n->in[SIGMOID_GRAD_Y], n->in[SIGMOID_GRAD_DY]))
        return "y and dy differ";
    tensor_like(n->out[0], n->in[SIGMOID_GRAD_Y]);
    return NULL;
}

static void sigmoid_grad_ref(const struct step *s)
{
    const float *y = s->in[SIGMOID_GRAD_Y], *dy = s->in[SIGMOID_GRAD_DY];
    float *dx = s->out[0];

    for (int64_t i = 0; i < tensor_len(s->node->out[0]); i++)
        dx[i] = sigmoid_slope(y[i], dy[i]);
}

const struct op op_sigmoid_grad = {
    .name = "sigmoid_grad",
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = sigmoid_grad_shape,
    .flops = sigmoid_flops,
    .ref = sigmoid_grad_ref,
};
