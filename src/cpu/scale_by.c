/* Multiplies a tensor by a scalar. */
#include "ops/scale_by.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"

struct job {
    const struct device *dev;
    struct step *s;
    enum dtype t;
    bool streamed;
};

static const char *scale_by_claim(struct region *r, struct graph *g, struct node *n,
                                  struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_scale_by)
        return "not a scale_by";
    if (n->in[SCALE_BY_X]->dtype != n->out[0]->dtype || !cpu_dtype(n->in[SCALE_BY_X]))
        return "fp32 and bf16 only, and one of them for both";

    region_claim_node(r, n);
    region_inplace(r, 0, SCALE_BY_X);
    return NULL;
}

static void scale_by_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const struct scale_by_attrs *a = j->s->node->attrs;

    j->dev->loops->scale(j->t, cpu_at(j->s->in[SCALE_BY_X], j->t, lo), a->factor,
                         cpu_out(j->s->out[0], j->t, lo), hi - lo, j->streamed);
}

static void scale_by_run(struct step *s, struct device *dev)
{
    struct job j = {dev, s, s->out_tensor[0]->dtype, cpu_streams(dev, s, 0)};

    cpu_for(dev, tensor_len(s->out_tensor[0]), 64, scale_by_part, &j);
}

const struct kernel cpu_scale_by = {
    .name = "cpu scale_by",
    .claim = scale_by_claim,
    .run = scale_by_run,
};
