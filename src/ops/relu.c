#include "ops/relu.h"

#include "base/half.h"
#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/pointwise.h"

static const struct attr relu_attr_table[] = {
    ATTR_FLOAT(struct relu_attrs, limit, 0, 65504, "largest output; 0: no limit"),
    {0},
};

struct tensor *relu_(struct builder *b, struct tensor *x, const struct relu_attrs *a)
{
    return node(b, &op_relu, a->layer, a, &x, 1);
}

/* y is clipped where y >= limit, which must still hold after y is stored in 16 bits. */
static bool relu_limit_exact(const struct relu_attrs *a)
{
    float f16 = fp16_to_float(fp16_from_float(a->limit));
    float bf16 = bf16_to_float(bf16_from_float(a->limit));

    return !(f16 < a->limit) && !(bf16 < a->limit) && !(f16 > a->limit) &&
           !(bf16 > a->limit);
}

static const char *relu_shape(struct node *n)
{
    if (!relu_limit_exact(n->attrs))
        return "the limit must be exact in 16-bit floats, as 6 is";
    tensor_like(n->out[0], n->in[RELU_X]);
    return NULL;
}

/* dx = dy where 0 < y < limit, else 0 */
static void relu_grad(struct builder *b, const struct node *n)
{
    struct tensor *y = n->out[0];
    struct tensor *in[] = {[RELU_GRAD_Y] = y, [RELU_GRAD_DY] = grad_of(b, y)};

    grad_add(b, n->in[RELU_X], node(b, &op_relu_grad, n->layer, n->attrs, in, 2));
}

static int64_t relu_flops(const struct node *n)
{
    return tensor_len(n->out[0]);
}

static void relu_ref(const struct step *s)
{
    const struct relu_attrs *a = s->node->attrs;
    const float *x = s->in[RELU_X];
    float *y = s->out[0];

    for (int64_t i = 0; i < tensor_len(s->node->out[0]); i++)
        y[i] = relu_value(x[i], a->limit);
}

const struct op op_relu = {
    .name = "relu",
    .attrs = relu_attr_table,
    .attrs_size = sizeof(struct relu_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = relu_shape,
    .grad = relu_grad,
    .flops = relu_flops,
    .ref = relu_ref,
};

static const char *relu_grad_shape(struct node *n)
{
    if (!tensor_same(n->in[RELU_GRAD_Y], n->in[RELU_GRAD_DY]))
        return "y and dy differ";
    tensor_like(n->out[0], n->in[RELU_GRAD_Y]);
    return NULL;
}

static void relu_grad_ref(const struct step *s)
{
    const struct relu_attrs *a = s->node->attrs;
    const float *y = s->in[RELU_GRAD_Y], *dy = s->in[RELU_GRAD_DY];
    float *dx = s->out[0];

    for (int64_t i = 0; i < tensor_len(s->node->out[0]); i++)
        dx[i] = relu_slope(y[i], dy[i], a->limit);
}

const struct op op_relu_grad = {
    .name = "relu_grad",
    .attrs = relu_attr_table,
    .attrs_size = sizeof(struct relu_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = relu_grad_shape,
    .flops = relu_flops,
    .ref = relu_grad_ref,
};
