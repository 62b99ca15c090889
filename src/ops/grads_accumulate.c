#include "ops/grads_accumulate.h"

#include <limits.h>

#include "base/error.h"
#include "graph/kernel.h"
#include "ops/control.h"

static const struct attr grads_accumulate_attr_table[] = {
    ATTR_INT(struct grads_accumulate_attrs, accumulation.group, 0, INT_MAX,
             "micro-batches of an update"),
    ATTR_INT(struct grads_accumulate_attrs, accumulation.batches, 0, INT_MAX,
             "micro-batches of an epoch"),
    {0},
};

void grads_accumulate(struct builder *b, struct tensor *grads, struct tensor *control,
                      struct tensor *sum, struct accumulation accumulation)
{
    grads_accumulate_some(b, grads, control, sum, accumulation, NULL, 0);
}

void grads_accumulate_some(struct builder *b, struct tensor *grads,
                           struct tensor *control, struct tensor *sum,
                           struct accumulation accumulation, struct tensor *const *grad,
                           int n)
{
    struct grads_accumulate_attrs a = {"grads_accumulate", accumulation};
    struct tensor *in[GRADS_ACCUMULATE_IN + GRADS_ACCUMULATE_SOME] = {
        [GRADS_ACCUMULATE_GRADS] = grads,
        [GRADS_ACCUMULATE_CONTROL] = control,
    };

    if (n > GRADS_ACCUMULATE_SOME)
        BUG("%d gradients in one range", n);
    for (int i = 0; i < n; i++)
        in[GRADS_ACCUMULATE_IN + i] = grad[i];
    node_update(b, &op_grads_accumulate, a.layer, &a, in, GRADS_ACCUMULATE_IN + n, &sum,
                1);
}

static const char *grads_accumulate_shape(struct node *n)
{
    return tensor_len(n->in[GRADS_ACCUMULATE_GRADS]) == tensor_len(n->out[0])
               ? NULL
               : "gradients and their sum differ in length";
}

static int64_t grads_accumulate_flops(const struct node *n)
{
    return tensor_len(n->out[0]);
}

static void grads_accumulate_ref(const struct step *s)
{
    const struct grads_accumulate_attrs *a = s->node->attrs;
    const struct control *c = s->in[GRADS_ACCUMULATE_CONTROL];
    const float *g = s->in[GRADS_ACCUMULATE_GRADS];
    float *sum = s->out[0];
    bool first = accumulation_begins(&a->accumulation, c->micro);

    for (int64_t i = 0; i < tensor_len(s->node->out[0]); i++)
        sum[i] = first ? g[i] : sum[i] + g[i];
}

const struct op op_grads_accumulate = {
    .name = "grads_accumulate",
    .attrs = grads_accumulate_attr_table,
    .attrs_size = sizeof(struct grads_accumulate_attrs),
    .precision = PRECISION_F32,
    .shape = grads_accumulate_shape,
    .flops = grads_accumulate_flops,
    .ref = grads_accumulate_ref,
};
