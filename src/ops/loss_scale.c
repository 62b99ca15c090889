#include "ops/loss_scale.h"

#include "graph/kernel.h"
#include "ops/control.h"
#include "ops/state.h"

static const struct attr loss_scale_attr_table[] = {
    ATTR_FLOAT(struct loss_scale_attrs, factor, 1e-9, 1, "1 / accumulated runs"),
    {0},
};

struct tensor *loss_scale_(struct builder *b, const struct loss_scale_attrs *a)
{
    struct loss_scale_attrs attrs = *a;
    struct tensor *control = control_tensor(b);

    if (attrs.factor == 0)
        attrs.factor = 1;
    return node(b, &op_loss_scale, attrs.layer, &attrs, &control, 1);
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
    const struct control *control = s->in[LOSS_SCALE_CONTROL];

    *(float *)s->out[0] = (float)(control->loss_scale * a->factor);
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
