/* grads_join: one pass over the gradients of all losses. */
#include "ops/grads_join.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/grads_join_formula.h"

enum { BLOCK = 2048 }; /* elements whose sum stays in L1 */

static const char *join_claim(struct region *r, struct graph *g, struct node *n,
                              struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_grads_join)
        return "no gradients of several losses";
    region_claim_node(r, n);
    return NULL;
}

/* A value that is not finite makes the sum of zeros NaN. */
static bool add_loss(float *restrict sum, const float *restrict g, int64_t n,
                     float unscale, bool first)
{
    float zero = 0;

#pragma omp simd reduction(+ : zero)
    for (int64_t i = 0; i < n; i++) {
        sum[i] = grads_join_add(first ? 0 : sum[i], g[i], unscale);
        zero += g[i] * 0;
    }
    return zero == 0;
}

static void join_part(void *arg, int64_t lo, int64_t hi)
{
    const struct step *s = arg;
    const struct grads_join_attrs *a = s->node->attrs;
    int64_t len = tensor_len(s->out_tensor[GRADS_JOIN_SUM]);
    float *sum = s->out[GRADS_JOIN_SUM];
    struct control *c = s->out[GRADS_JOIN_CONTROL];

    for (int64_t pos = lo; pos < hi; pos += BLOCK) {
        int64_t n = hi - pos < BLOCK ? hi - pos : BLOCK;

        for (int k = 0; k < a->losses; k++)
            if (!add_loss(sum + pos, (const float *)s->in[0] + k * len + pos, n,
                          grads_join_unscale(c, k), k == 0))
                __atomic_store_n(&c->scalers[k].overflow, 1, __ATOMIC_RELAXED);
    }
}

static void join_run(struct step *s, struct device *dev)
{
    cpu_for(dev, tensor_len(s->out_tensor[GRADS_JOIN_SUM]), BLOCK, join_part, s);
}

const struct kernel cpu_grads_join = {
    .name = "cpu grads join",
    .claim = join_claim,
    .run = join_run,
};
