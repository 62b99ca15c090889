/* Exchanges the rows of experts with the other processes. */
#include "ops/all_to_all.h"

#include "cpu/kernels.h"
#include "graph/kernel.h"

static const char *all_to_all_claim(struct region *r, struct graph *g, struct node *n,
                                    struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_all_to_all)
        return "not an exchange of rows";
    if (n->in[0]->dtype != n->out[0]->dtype)
        return "one type for all rows";
    region_claim_node(r, n);
    return NULL;
}

static void all_to_all_run(struct step *s, struct device *dev)
{
    const struct all_to_all_attrs *a = s->node->attrs;
    struct exchange e = all_to_all_exchange(a, s->out_tensor[0]);

    (void)dev;
    a->group->exchange(a->group, &e, s->in[0], s->out[0], s->out_tensor[0]->dtype);
}

const struct kernel cpu_all_to_all = {
    .name = "cpu all_to_all",
    .claim = all_to_all_claim,
    .run = all_to_all_run,
};
