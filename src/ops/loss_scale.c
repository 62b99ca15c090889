#include "ops/loss_scale.h"

#include <limits.h>

#include "graph/kernel.h"
#include "ops/loss_scale_formula.h"
#include "ops/state.h"

static const struct attr loss_scale_attr_table[] = {
    ATTR_INT(struct loss_scale_attrs, accumulation.group, 0, INT_MAX,
             "runs of an update"),
    ATTR_INT(struct loss_scale_attrs, accumulation.batches, 0, INT_MAX,
             "runs of an epoch"),
    ATTR_INT(struct loss_scale_attrs, overflow_at, 0, INT_MAX,
             "update whose gradients are made infinite; 0: none"),
    {0},
};

struct tensor *loss_scale_(struct builder *b, const struct loss_scale_attrs *a)
{
    struct tensor *control = control_tensor(b);

    return node(b, &op_loss_scale, a->layer, a, &control, 1);
}

static const char *loss_scale_shape(struct node *n)
{
    int64_t one = 1;

    tensor_plain(n->out[0], DTYPE_F32, 1, &one);
    return NULL;
}

static void loss_scale_ref(const struct step *s)
{
    const struct loss_scale_attrs *a = s->node->attrs;

    *(float *)s->out[0] =
        loss_scale_value(s->in[LOSS_SCALE_CONTROL], &a->accumulation, a->overflow_at,
                         a->scale);
}

const struct op op_loss_scale = {
    .name = "loss_scale",
    .attrs = loss_scale_attr_table,
    .attrs_size = sizeof(struct loss_scale_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = loss_scale_shape,
    .ref = loss_scale_ref,
};
