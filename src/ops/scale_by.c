#include "ops/scale_by.h"

#include "graph/autodiff.h"
#include "graph/kernel.h"

static const struct attr scale_by_attr_table[] = {
    ATTR_FLOAT(struct scale_by_attrs, factor, -1e6, 1e6, "what x is multiplied by"),
    {0},
};

struct tensor *scale_by_(struct builder *b, struct tensor *x,
                         const struct scale_by_attrs *a)
{
    return node(b, &op_scale_by, a->layer, a, &x, 1);
}

static const char *scale_by_shape(struct node *n)
{
    tensor_like(n->out[0], n->in[SCALE_BY_X]);
    return NULL;
}

static void scale_by_grad(struct builder *b, const struct node *n)
{
    grad_add(b, n->in[SCALE_BY_X], scale_by_(b, grad_of(b, n->out[0]), n->attrs));
}

static int64_t scale_by_flops(const struct node *n)
{
    return tensor_len(n->out[0]);
}

static void scale_by_ref(const struct step *s)
{
    const struct scale_by_attrs *a = s->node->attrs;
    const float *x = s->in[SCALE_BY_X];
    float *y = s->out[0];

    for (int64_t i = 0; i < tensor_len(s->node->out[0]); i++)
        y[i] = a->factor * x[i];
}

const struct op op_scale_by = {
    .name = "scale_by",
    .attrs = scale_by_attr_table,
    .attrs_size = sizeof(struct scale_by_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = scale_by_shape,
    .grad = scale_by_grad,
    .flops = scale_by_flops,
    .ref = scale_by_ref,
};
