#include "ops/grad_stats.h"

#include "graph/kernel.h"
#include "ops/control_formula.h"

void grad_stats(struct builder *b, struct tensor *grads, struct tensor *control)
{
    node_update(b, &op_grad_stats, "grad_stats", NULL, &grads, 1, &control, 1);
}

static const char *grad_stats_shape(struct node *n)
{
    return tensor_size(n->out[0]) == sizeof(struct control) ? NULL : "no control tensor";
}

static int64_t grad_stats_flops(const struct node *n)
{
    return 2 * tensor_len(n->in[0]);
}

static void grad_stats_ref(const struct step *s)
{
    const float *g = s->in[0];
    double sum = 0;

    for (int64_t i = 0; i < tensor_len(s->node->in[0]); i++)
        sum += (double)g[i] * (double)g[i];
    control_gradients(s->out[0], sum);
}

const struct op op_grad_stats = {
    .name = "grad_stats",
    .precision = PRECISION_F32,
    .shape = grad_stats_shape,
    .flops = grad_stats_flops,
    .ref = grad_stats_ref,
};
