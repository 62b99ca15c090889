#include "ops/grads_join.h"

#include <math.h>

#include "graph/kernel.h"
#include "ops/grads_join_formula.h"

void grads_join(struct builder *b, struct tensor *grads, int losses, struct tensor *sum,
                struct tensor *control)
{
    struct grads_join_attrs a = {"grads_join", losses};
    struct tensor *state[] = {sum, control};

    node_update(b, &op_grads_join, a.layer, &a, &grads, 1, state, 2);
}

static const struct attr grads_join_attr_table[] = {
    ATTR_INT(struct grads_join_attrs, losses, 2, CONTROL_LOSSES, "with a scale each"),
    {0},
};

static const char *grads_join_shape(struct node *n)
{
    const struct grads_join_attrs *a = n->attrs;

    if (n->nin != 1 || n->nout != 2)
        return "wrong number of tensors";
    if (tensor_size(n->out[GRADS_JOIN_CONTROL]) != sizeof(struct control))
        return "no control tensor";
    if (tensor_len(n->in[0]) != a->losses * tensor_len(n->out[GRADS_JOIN_SUM]))
        return "the number of gradients does not match the number of losses";
    return NULL;
}

static int64_t grads_join_flops(const struct node *n)
{
    return 2 * tensor_len(n->in[0]);
}

static void grads_join_ref(const struct step *s)
{
    const struct grads_join_attrs *a = s->node->attrs;
    int64_t len = tensor_len(s->node->out[GRADS_JOIN_SUM]);
    const float *g = s->in[0];
    float *sum = s->out[GRADS_JOIN_SUM];
    struct control *c = s->out[GRADS_JOIN_CONTROL];

    for (int64_t i = 0; i < len; i++)
        sum[i] = 0;
    for (int k = 0; k < a->losses; k++) {
        float unscale = grads_join_unscale(c, k);

        for (int64_t i = 0; i < len; i++) {
            sum[i] = grads_join_add(sum[i], g[k * len + i], unscale);
            if (!isfinite(g[k * len + i]))
                c->scalers[k].overflow = 1;
        }
    }
}

const struct op op_grads_join = {
    .name = "grads_join",
    .attrs = grads_join_attr_table,
    .attrs_size = sizeof(struct grads_join_attrs),
    .precision = PRECISION_F32,
    .shape = grads_join_shape,
    .flops = grads_join_flops,
    .ref = grads_join_ref,
};
