/* Sums of tensors that were not fused with a neighbor. */
#include "ops/add.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"

struct job {
    const struct device *dev;
    struct step *s;
    enum dtype t;
    bool streamed;
};

static const char *add_claim(struct region *r, struct graph *g, struct node *n,
                             struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_add)
        return "not an add";
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->dtype != n->out[0]->dtype || !cpu_dtype(n->in[i]))
            return "fp32 and bf16 only, and one of them for all";

    region_claim_node(r, n);
    region_inplace(r, 0, 0);
    return NULL;
}

static void add_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;

    j->dev->loops->add(j->t, (const void *const *)j->s->in, j->s->nin, j->s->out[0], lo,
                       hi, j->streamed);
}

static void add_run(struct step *s, struct device *dev)
{
    struct job j = {dev, s, s->out_tensor[0]->dtype, cpu_streams(dev, s, 0)};

    cpu_for(dev, tensor_len(s->out_tensor[0]), 64, add_part, &j);
}

const struct kernel cpu_add = {
    .name = "cpu add",
    .claim = add_claim,
    .run = add_run,
};
