/* Sends buckets of gradients to the other processes while the steps in between run. */
#include "ops/bucket.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"

static const char *bucket_claim(struct region *r, struct graph *g, struct node *n,
                                struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_bucket_start && n->op != &op_bucket_join)
        return "not a bucket of gradients";
    region_claim_node(r, n);
    return NULL;
}

static void bucket_run(struct step *s, struct device *dev)
{
    const struct bucket_attrs *a = s->node->attrs;

    s->node->op->ref(s);
    dev->travels = s->node->op == &op_bucket_start ? a->group : NULL;
}

void cpu_progress(struct device *dev, const struct step *s, int number)
{
    (void)s, (void)number;
    if (dev->travels)
        dev->travels->progress(dev->travels);
}

const struct kernel cpu_bucket = {
    .name = "cpu bucket",
    .claim = bucket_claim,
    .run = bucket_run,
};
