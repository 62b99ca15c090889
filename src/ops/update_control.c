#include "ops/update_control.h"

#include "graph/kernel.h"

void control_prepare_node(struct builder *b, struct tensor *control,
                          const struct control_prepare_attrs *a)
{
    struct control_prepare_attrs copy = *a;

    copy.layer = "control";
    node_update(b, &op_control_prepare, copy.layer, &copy, NULL, 0, &control, 1);
}

void control_finish_node(struct builder *b, struct tensor *control,
                         const struct scaler *s, bool held)
{
    struct control_finish_attrs a = {"control", *s, held};

    node_update(b, &op_control_finish, a.layer, &a, NULL, 0, &control, 1);
}

void control_micro_node(struct builder *b, struct tensor *control)
{
    node_update(b, &op_control_micro, "control", NULL, NULL, 0, &control, 1);
}

static const char *control_shape(struct node *n)
{
    return tensor_size(n->out[0]) == sizeof(struct control) ? NULL : "no control tensor";
}

static void control_prepare_ref(const struct step *s)
{
    const struct control_prepare_attrs *a = s->node->attrs;

    control_prepare(s->out[0], &a->schedule, a->clip_norm, a->ema_decay, a->ema_ramp);
}

static void control_finish_ref(const struct step *s)
{
    const struct control_finish_attrs *a = s->node->attrs;

    control_finish(s->out[0], &a->scaler, a->held);
}

static void control_micro_ref(const struct step *s)
{
    control_micro(s->out[0]);
}

const struct op op_control_prepare = {
    .name = "control_prepare",
    .attrs_size = sizeof(struct control_prepare_attrs),
    .precision = PRECISION_F32,
    .shape = control_shape,
    .ref = control_prepare_ref,
};

const struct op op_control_finish = {
    .name = "control_finish",
    .attrs_size = sizeof(struct control_finish_attrs),
    .precision = PRECISION_F32,
    .shape = control_shape,
    .ref = control_finish_ref,
};

const struct op op_control_micro = {
    .name = "control_micro",
    .precision = PRECISION_F32,
    .shape = control_shape,
    .ref = control_micro_ref,
};
