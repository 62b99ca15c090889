/*
 * grads_join: unscales the gradients of several losses, each with its own loss scale, and
 * adds them. Reads each gradient once and writes the sum once, 16 bytes at a time. A
 * value that is not finite sets its loss's flag in the control tensor, which
 * control_finish clears.
 */
#include "ops/grads_join.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/vec.h"
#include "graph/kernel.h"
#include "ops/grads_join_formula.h"

enum { BLOCK = 256, EACH = 4 };

static const char *join_claim(struct region *r, struct graph *, struct node *n,
                              struct device *)
{
    if (n->op != &op_grads_join)
        return "no gradients of several losses";
    if (n->in[0]->offset % 16 || n->out[GRADS_JOIN_SUM]->offset % 16 ||
        tensor_len(n->out[GRADS_JOIN_SUM]) % EACH)
        return "an array starts inside of 16 bytes";
    region_claim_node(r, n);
    return nullptr;
}

__global__ void __launch_bounds__(BLOCK)
    join_losses(const float *g, int losses, float *sum, int64_t len, control *c)
{
    int64_t i = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) * EACH;
    vec<float> all = {};

    if (i >= len)
        return;
    for (int k = 0; k < losses; k++) {
        vec<float> v = vec_load(g + k * len + i);
        float unscale = grads_join_unscale(c, k), zero = 0;

        for (int e = 0; e < EACH; e++) {
            all.v[e] = grads_join_add(all.v[e], v.v[e], unscale);
            zero += v.v[e] * 0;
        }
        if (!(zero == 0))
            c->scalers[k].overflow = 1; /* benign race: every writer stores 1 */
    }
    vec_store(sum + i, all);
}

static void join_run(struct step *s, struct device *dev)
{
    const struct grads_join_attrs *a = (const struct grads_join_attrs *)s->node->attrs;
    int64_t len = tensor_len(s->out_tensor[GRADS_JOIN_SUM]);

    LAUNCH(dev, join_losses, cuda_blocks(len, BLOCK * EACH, 1), BLOCK, 0,
           (const float *)s->in[0], a->losses, (float *)s->out[GRADS_JOIN_SUM], len,
           (struct control *)s->out[GRADS_JOIN_CONTROL]);
}

extern const struct kernel cuda_grads_join = {
    .name = "cuda grads join",
    .claim = join_claim,
    .run = join_run,
};
