#include "ops/constant.h"

#include <string.h>

#include "graph/kernel.h"

static const struct attr constant_attr_table[] = {
    ATTR_INT(struct constant_attrs, ndim, 0, TENSOR_DIMS, "dims"),
    {0},
};

struct tensor *constant_(struct builder *b, const struct constant_attrs *a)
{
    return node(b, &op_constant, a->layer, a, NULL, 0);
}

static const char *constant_shape(struct node *n)
{
    const struct constant_attrs *a = n->attrs;

    for (int d = 0; d < a->ndim; d++)
        if (a->dim[d] < 1)
            return "it is empty";
    tensor_plain(n->out[0], DTYPE_F32, a->ndim, a->dim);
    return NULL;
}

static void constant_ref(const struct step *s)
{
    const struct constant_attrs *a = s->node->attrs;

    memcpy(s->out[0], a->data, (size_t)tensor_len(s->node->out[0]) * sizeof(float));
}

const struct op op_constant = {
    .name = "constant",
    .attrs = constant_attr_table,
    .attrs_size = sizeof(struct constant_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = constant_shape,
    .ref = constant_ref,
};
