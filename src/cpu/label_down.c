/* Downsamples a label map. */
#include "ops/label_down.h"

#include "cpu/kernels.h"
#include "graph/kernel.h"

static const char *label_down_claim(struct region *r, struct graph *g, struct node *n,
                                    struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_label_down)
        return "not a label map at a lower resolution";
    region_claim_node(r, n);
    return NULL;
}

static void label_down_run(struct step *s, struct device *dev)
{
    (void)dev;
    s->node->op->ref(s);
}

const struct kernel cpu_label_down = {
    .name = "cpu label_down",
    .claim = label_down_claim,
    .run = label_down_run,
};
