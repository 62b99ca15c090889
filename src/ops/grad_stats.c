#include "ops/grad_stats.h"

#include "graph/collective.h"
#include "graph/kernel.h"
#include "ops/control_formula.h"

void grad_stats(struct builder *b, struct tensor *grads, struct tensor *control)
{
    grad_stats_shared(b, grads, control, NULL, 0, tensor_len(grads));
}

void grad_stats_shared(struct builder *b, struct tensor *grads, struct tensor *control,
                       const struct collective *group, int64_t start, int64_t len)
{
    struct grad_stats_attrs a = {"grad_stats", group, start, len};

    node_update(b, &op_grad_stats, a.layer, &a, &grads, 1, &control, 1);
}

static const char *grad_stats_shape(struct node *n)
{
    const struct grad_stats_attrs *a = n->attrs;

    if (a->first < 0 || a->len < 0 || a->first + a->len > tensor_len(n->in[0]))
        return "a share that is not of the gradients";
    return tensor_size(n->out[0]) == sizeof(struct control) ? NULL : "no control tensor";
}

static int64_t grad_stats_flops(const struct node *n)
{
    return 2 * ((const struct grad_stats_attrs *)n->attrs)->len;
}

static void grad_stats_ref(const struct step *s)
{
    const struct grad_stats_attrs *a = s->node->attrs;
    const float *g = (const float *)s->in[0] + a->first;
    double sum = 0;

    for (int64_t i = 0; i < a->len; i++)
        sum += (double)g[i] * (double)g[i];
    if (a->group)
        a->group->sum(a->group, &sum, 1);
    control_gradients(s->out[0], sum);
}

const struct op op_grad_stats = {
    .name = "grad_stats",
    .attrs_size = sizeof(struct grad_stats_attrs),
    .precision = PRECISION_F32,
    .shape = grad_stats_shape,
    .flops = grad_stats_flops,
    .ref = grad_stats_ref,
};
