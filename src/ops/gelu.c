#include "ops/gelu.h"

#include <math.h>

#include "graph/autodiff.h"
#include "graph/kernel.h"

static const struct attr gelu_attr_table[] = {
    ATTR_INT(struct gelu_attrs, tanh, 0, 1, "the form with tanh"),
    {0},
};

struct tensor *gelu_(struct builder *b, struct tensor *x, const struct gelu_attrs *a)
{
    return node(b, &op_gelu, a->layer, a, &x, 1);
}

static const char *gelu_shape(struct node *n)
{
    tensor_like(n->out[0], n->in[GELU_X]);
    return NULL;
}

static void gelu_grad(struct builder *b, const struct node *n)
{
    struct tensor *in[] = {
        [GELU_GRAD_X] = n->in[GELU_X], [GELU_GRAD_DY] = grad_of(b, n->out[0])};

    grad_add(b, n->in[GELU_X], node(b, &op_gelu_grad, n->layer, n->attrs, in, 2));
}

static int64_t gelu_flops(const struct node *n)
{
    return 8 * tensor_len(n->out[0]);
}

/* Computes Phi and phi, or in the tanh form the sigmoid and its derivative. */
static void cdf(double x, bool approximate, double *at, double *slope)
{
    const double pi = acos(-1), k = 2 * sqrt(2 / pi), cube = 0.044715;
    double s;

    *at = 0.5 * erfc(-x / sqrt(2));
    *slope = exp(-x * x / 2) / sqrt(2 * pi);
    if (!approximate)
        return;
    s = 1 / (1 + exp(-k * (x + cube * x * x * x)));
    *at = s;
    *slope = s * (1 - s) * k * (1 + 3 * cube * x * x);
}

static void gelu_ref(const struct step *s)
{
    const struct gelu_attrs *a = s->node->attrs;
    const float *x = s->in[GELU_X];
    float *y = s->out[0];
    double at, slope;

    for (int64_t i = 0; i < tensor_len(s->node->out[0]); i++) {
        cdf((double)x[i], a->tanh, &at, &slope);
        y[i] = (float)(x[i] * at);
    }
}

const struct op op_gelu = {
    .name = "gelu",
    .attrs = gelu_attr_table,
    .attrs_size = sizeof(struct gelu_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = gelu_shape,
    .grad = gelu_grad,
    .flops = gelu_flops,
    .ref = gelu_ref,
};

static const char *gelu_grad_shape(struct node *n)
{
    if (!tensor_same(n->in[GELU_GRAD_X], n->in[GELU_GRAD_DY]))
        return "x and dy differ";
    tensor_like(n->out[0], n->in[GELU_GRAD_X]);
    return NULL;
}

static int64_t gelu_grad_flops(const struct node *n)
{
    return 12 * tensor_len(n->out[0]);
}

static void gelu_grad_ref(const struct step *s)
{
    const struct gelu_attrs *a = s->node->attrs;
    const float *x = s->in[GELU_GRAD_X], *dy = s->in[GELU_GRAD_DY];
    float *dx = s->out[0];
    double at, slope;

    for (int64_t i = 0; i < tensor_len(s->node->out[0]); i++) {
        cdf((double)x[i], a->tanh, &at, &slope);
        dx[i] = (float)(dy[i] * (at + x[i] * slope));
    }
}

const struct op op_gelu_grad = {
    .name = "gelu_grad",
    .attrs = gelu_attr_table,
    .attrs_size = sizeof(struct gelu_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = gelu_grad_shape,
    .flops = gelu_grad_flops,
    .ref = gelu_grad_ref,
};
