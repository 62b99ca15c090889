#include "ops/cast.h"

#include <string.h>

#include "graph/autodiff.h"
#include "graph/kernel.h"

static const struct attr cast_attr_table[] = {
    ATTR_INT(struct cast_attrs, dtype, DTYPE_F32, DTYPE_BF16, "type of the result"),
    {0},
};

struct tensor *cast(struct builder *b, struct tensor *x, enum dtype dtype,
                    const char *layer)
{
    struct cast_attrs a = {.layer = layer, .dtype = (int)dtype};

    return node(b, &op_cast, layer, &a, &x, 1);
}

static const char *cast_shape(struct node *n)
{
    const struct cast_attrs *a = n->attrs;

    if (!tensor_is_float(n->in[CAST_X]))
        return "only floating-point tensors can be cast";
    tensor_like(n->out[0], n->in[CAST_X]);
    n->out[0]->dtype = (enum dtype)a->dtype;
    return NULL;
}

static void cast_grad(struct builder *b, const struct node *n)
{
    struct tensor *x = n->in[CAST_X];

    grad_add(b, x, cast(b, grad_of(b, n->out[0]), x->dtype, n->layer));
}

/* The storage does the rounding: the caller reads and writes the real types. */
static void cast_ref(const struct step *s)
{
    memcpy(s->out[0], s->in[CAST_X], (size_t)tensor_len(s->node->out[0]) * sizeof(float));
}

const struct op op_cast = {
    .name = "cast",
    .attrs = cast_attr_table,
    .attrs_size = sizeof(struct cast_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = cast_shape,
    .grad = cast_grad,
    .ref = cast_ref,
};
