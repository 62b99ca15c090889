/* The conditional ordinal distribution: a thread per sample, since classes are few and
 * their sums sequential. */
#include "ops/corn.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "graph/kernel.h"
#include "ops/corn_formula.h"

enum { CORN_BLOCK = 64 };

static const char *corn_claim(struct region *r, struct graph *, struct node *n,
                              struct device *)
{
    if (n->op != &op_corn && n->op != &op_corn_grad)
        return "not an ordinal distribution";
    if (n->in[CORN_LOGITS]->dtype != DTYPE_F32)
        return "fp32 only";

    region_claim_node(r, n);
    return nullptr;
}

__global__ void __launch_bounds__(CORN_BLOCK)
    corn_rows(const float *z, int64_t samples, int64_t classes, float *y)
{
    int64_t i = (int64_t)blockIdx.x * CORN_BLOCK + threadIdx.x;

    if (i < samples)
        corn_row(z + i * (classes - 1), classes, y + i * classes);
}

__global__ void __launch_bounds__(CORN_BLOCK)
    corn_row_grads(const float *z, const float *dy, int64_t samples, int64_t classes,
                   float *dz)
{
    int64_t i = (int64_t)blockIdx.x * CORN_BLOCK + threadIdx.x;

    if (i < samples)
        corn_row_grad(z + i * (classes - 1), dy + i * classes, classes,
                      dz + i * (classes - 1));
}

static void corn_run(struct step *s, struct device *dev)
{
    const struct tensor *t = s->in_tensor[CORN_LOGITS];
    const float *z = (const float *)s->in[CORN_LOGITS];
    int64_t samples = t->dim[0], classes = t->dim[1] + 1;
    unsigned blocks = (unsigned)((samples + CORN_BLOCK - 1) / CORN_BLOCK);
    float *dst = (float *)s->out[0];

    if (s->node->op == &op_corn)
        LAUNCH(dev, corn_rows, blocks, CORN_BLOCK, 0, z, samples, classes, dst);
    else
        LAUNCH(dev, corn_row_grads, blocks, CORN_BLOCK, 0, z,
               (const float *)s->in[CORN_GRAD_DY], samples, classes, dst);
}

extern const struct kernel cuda_corn = {
    .name = "cuda corn",
    .claim = corn_claim,
    .run = corn_run,
};
