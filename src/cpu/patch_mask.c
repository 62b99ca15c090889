/* patch_mask on the CPU: a thread per image. */
#include "ops/patch_mask.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"

static const char *patch_mask_claim(struct region *r, struct graph *g, struct node *n,
                                    struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_patch_mask)
        return "no patch_mask";

    region_claim_node(r, n);
    return NULL;
}

static void patch_mask_part(void *arg, int64_t lo, int64_t hi)
{
    const struct step *s = arg;
    const struct patch_mask_attrs *a = s->node->attrs;
    bool labels = s->node->in[PATCH_MASK_KEYS]->ndim == 1;

    for (int64_t i = lo; i < hi; i++)
        patch_mask_image(s->in[PATCH_MASK_KEYS], labels, i, a->cells, a->count,
                         s->out[0]);
}

static void patch_mask_run(struct step *s, struct device *dev)
{
    cpu_for(dev, s->node->out[0]->dim[0], 1, patch_mask_part, s);
}

const struct kernel cpu_patch_mask = {
    .name = "cpu patch_mask", .claim = patch_mask_claim, .run = patch_mask_run};
