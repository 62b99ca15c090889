/* resize on the CPU: each thread processes one image at a time. */
#include "ops/resize.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/image.h"

static const char *resize_claim(struct region *r, struct graph *g, struct node *n,
                                struct device *dev)
{
    (void)g;
    if (n->op != &op_resize)
        return "no resize";

    region_claim_node(r, n);
    region_workspace(r, (size_t)dev->threads * resize_scratch(n->attrs));
    return NULL;
}

struct job {
    const struct device *dev;
    const struct step *s;
};

static void resize_part(void *arg, int thread)
{
    const struct job *j = arg;
    char *scratch = j->s->workspace;
    int64_t lo, hi;

    cpu_part(j->s->node->out[0]->dim[IMAGE_N], 1, thread, j->dev->threads, &lo, &hi);
    scratch += (size_t)thread * resize_scratch(j->s->node->attrs);
    for (int64_t i = lo; i < hi; i++)
        resize_image(j->s, i, scratch);
}

static void resize_run(struct step *s, struct device *dev)
{
    struct job j = {dev, s};

    cpu_parallel(dev, resize_part, &j);
}

const struct kernel cpu_resize = {
    .name = "cpu resize",
    .claim = resize_claim,
    .run = resize_run,
};
