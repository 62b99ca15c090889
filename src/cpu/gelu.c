/* gelu and its gradient if they were not fused with a neighbor. */
#include "ops/gelu.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"

struct job {
    const struct device *dev;
    struct step *s;
    bool streamed;
};

static const char *gelu_claim(struct region *r, struct graph *g, struct node *n,
                              struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_gelu && n->op != &op_gelu_grad)
        return "not a gelu";
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->dtype != n->out[0]->dtype || !cpu_dtype(n->in[i]))
            return "fp32 and bf16 only, and one of them for all";

    region_claim_node(r, n);
    region_inplace(r, 0, n->nin - 1); /* x, or dy */
    return NULL;
}

static void gelu_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const struct step *s = j->s;
    const struct gelu_attrs *a = s->node->attrs;
    enum dtype t = s->out_tensor[0]->dtype;
    const void *x = cpu_at(s->in[GELU_X], t, lo);
    void *out = cpu_out(s->out[0], t, lo);

    if (s->node->op == &op_gelu)
        j->dev->loops->gelu_forward(t, x, out, hi - lo, a->tanh, j->streamed);
    else
        j->dev->loops->gelu_grad(t, x, cpu_at(s->in[GELU_GRAD_DY], t, lo), out, hi - lo,
                                 a->tanh, j->streamed);
}

static void gelu_run(struct step *s, struct device *dev)
{
    struct job j = {dev, s, cpu_streams(dev, s, 0)};

    cpu_for(dev, tensor_len(s->out_tensor[0]), 64, gelu_part, &j);
}

const struct kernel cpu_gelu = {
    .name = "cpu gelu",
    .claim = gelu_claim,
    .run = gelu_run,
};
