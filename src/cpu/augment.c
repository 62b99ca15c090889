/* flip, color_jitter, and erase on the CPU: all threads process the images of a batch. */
#include "ops/augment.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/image.h"

struct augment_state {
    struct erase_levels levels; /* of erase */
};

static const char *augment_claim(struct region *r, struct graph *g, struct node *n,
                                 struct device *dev)
{
    struct augment_state *st = region_state(r);

    (void)g, (void)dev;
    if (n->op != &op_flip && n->op != &op_color_jitter && n->op != &op_erase)
        return "no augmentation";

    if (n->op == &op_erase) {
        const struct erase_attrs *a = n->attrs;

        erase_levels_init(&st->levels, a->mean, a->std);
    }
    region_claim_node(r, n);
    if (n->op != &op_flip)
        region_inplace(r, 0, AUGMENT_X);
    return NULL;
}

static void augment_part(void *arg, int64_t lo, int64_t hi)
{
    const struct step *s = arg;
    const struct augment_state *st = s->state;

    for (int64_t i = lo; i < hi; i++) {
        struct augment_image m = augment_image_of(s, i);

        if (s->node->op == &op_flip)
            flip_image(s->node->attrs, &m);
        else if (s->node->op == &op_erase)
            erase_image(s->node->attrs, &st->levels, &m);
        else
            color_jitter_image(s->node->attrs, &m);
    }
}

static void augment_run(struct step *s, struct device *dev)
{
    cpu_for(dev, s->node->out[0]->dim[IMAGE_N], 1, augment_part, s);
}

const struct kernel cpu_augment = {
    .name = "cpu augment",
    .claim = augment_claim,
    .run = augment_run,
    .state_size = sizeof(struct augment_state),
};
