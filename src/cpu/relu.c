/* relu and its gradient if they are not fused; usually the kernel of a neighbor includes
 * them. */
#include "ops/relu.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"

struct job {
    const struct device *dev;
    enum dtype t;
    const void *a, *b;
    void *out;
    float limit;
    bool streamed;
};

static const char *relu_claim(struct region *r, struct graph *g, struct node *n,
                              struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_relu && n->op != &op_relu_grad)
        return "not a relu";
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->dtype != n->out[0]->dtype || !cpu_dtype(n->in[i]))
            return "fp32 and bf16 only, and one of them for all";

    region_claim_node(r, n);
    region_inplace(r, 0, n->nin - 1); /* x, or dy */
    return NULL;
}

static void relu_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const void *a = cpu_at(j->a, j->t, lo), *b = cpu_at(j->b, j->t, lo);
    void *out = cpu_out(j->out, j->t, lo);

    if (j->b)
        j->dev->loops->relu_grad(j->t, a, b, out, hi - lo, j->limit, j->streamed);
    else
        j->dev->loops->relu_forward(j->t, a, out, hi - lo, j->limit, j->streamed);
}

static void relu_run(struct step *s, struct device *dev)
{
    const struct relu_attrs *a = s->node->attrs;
    struct job j = {
        dev,  s->out_tensor[0]->dtype, s->in[RELU_GRAD_Y], NULL, s->out[0], a->limit,
        false};

    if (s->nin > RELU_GRAD_DY)
        j.b = s->in[RELU_GRAD_DY];
    j.streamed = cpu_streams(dev, s, 0);
    cpu_for(dev, tensor_len(s->out_tensor[0]), 64, relu_part, &j);
}

const struct kernel cpu_relu = {
    .name = "cpu relu",
    .claim = relu_claim,
    .run = relu_run,
};
