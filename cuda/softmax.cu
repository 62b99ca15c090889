/*
 * softmax and its gradient: a block computes a row, which it reads three times, the second
 * and third time from a cache. Bytes: the operands read, the result written.
 */
#include "ops/softmax.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/reduce.h"
#include "cuda/vec.h"
#include "graph/kernel.h"
#include "ops/image.h"

enum { BLOCK = 128 };

/* A NaN makes the sum NaN, and so the row. */
__global__ void __launch_bounds__(BLOCK) softmax_forward(const float *x, float *y, int n)
{
    __shared__ float shared[BLOCK / 32];
    int64_t row = (int64_t)blockIdx.x * n;
    float m = -INFINITY, sum = 0;

    for (int i = (int)threadIdx.x; i < n; i += BLOCK)
        m = fmaxf(m, x[row + i]);
    m = block_max<BLOCK>(m, shared);
    for (int i = (int)threadIdx.x; i < n; i += BLOCK)
        sum += expf(x[row + i] - m);
    sum = block_sum<BLOCK>(sum, shared);
    for (int i = (int)threadIdx.x; i < n; i += BLOCK)
        y[row + i] = expf(x[row + i] - m) / sum;
}

__global__ void __launch_bounds__(BLOCK)
    softmax_backward(const float *y, const float *dy, float *dx, int n)
{
    __shared__ float shared[BLOCK / 32];
    int64_t row = (int64_t)blockIdx.x * n;
    float sum = 0;

    for (int i = (int)threadIdx.x; i < n; i += BLOCK)
        sum += y[row + i] * dy[row + i];
    sum = block_sum<BLOCK>(sum, shared);
    for (int i = (int)threadIdx.x; i < n; i += BLOCK)
        dx[row + i] = y[row + i] * (dy[row + i] - sum);
}

static const char *softmax_claim(struct region *r, struct graph *, struct node *n,
                                 struct device *)
{
    if (n->op != &op_softmax && n->op != &op_softmax_grad)
        return "no softmax";
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->dtype != DTYPE_F32 || n->out[0]->dtype != DTYPE_F32)
            return "fp32 only";

    region_claim_node(r, n);
    return nullptr;
}

static void softmax_run(struct step *s, struct device *dev)
{
    const struct tensor *out = s->out_tensor[0];
    int n = (int)tensor_channels(out);
    unsigned rows = (unsigned)(tensor_len(out) / n);

    if (s->node->op == &op_softmax)
        LAUNCH(dev, softmax_forward, rows, BLOCK, 0, (const float *)s->in[SOFTMAX_X],
               (float *)s->out[0], n);
    else
        LAUNCH(dev, softmax_backward, rows, BLOCK, 0,
               (const float *)s->in[SOFTMAX_GRAD_Y],
               (const float *)s->in[SOFTMAX_GRAD_DY], (float *)s->out[0], n);
}

extern const struct kernel cuda_softmax = {
    .name = "cuda softmax",
    .claim = softmax_claim,
    .run = softmax_run,
};
