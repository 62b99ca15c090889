/* The weighted sum of losses and its gradient for one of them. */
#include "ops/loss_sum.h"

#include "cpu/kernels.h"
#include "graph/kernel.h"

static const char *loss_sum_claim(struct region *r, struct graph *g, struct node *n,
                                  struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_loss_sum && n->op != &op_loss_share && n->op != &op_loss_times)
        return "not a sum of losses";
    region_claim_node(r, n);
    return NULL;
}

static void loss_sum_run(struct step *s, struct device *dev)
{
    (void)dev;
    s->node->op->ref(s);
}

const struct kernel cpu_loss_sum = {
    .name = "cpu loss_sum",
    .claim = loss_sum_claim,
    .run = loss_sum_run,
};
