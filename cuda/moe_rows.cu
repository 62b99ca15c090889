/*
 * moe_dispatch and moe_combine: a thread computes an element of the result; neighbors read
 * neighbors. moe_gate_grad: a warp per gate.
 */
#include "ops/moe_rows.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/reduce.h"
#include "cuda/vec.h"
#include "graph/kernel.h"

enum { BLOCK = 256, WARPS = BLOCK / 32 };

struct moe_places {
    const int32_t *slot, *token;
    const float *gate; /* or NULL */
    int64_t count;     /* elements of the result */
    int top, channels;
};

template <class T>
__global__ void __launch_bounds__(BLOCK)
    moe_dispatch_kernel(const T *x, T *y, moe_places p)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    float v = 0;

    if (i >= p.count)
        return;
    int32_t choice = p.token[i / p.channels];

    if (choice >= 0)
        v = to_float(x[(int64_t)(choice / p.top) * p.channels + i % p.channels]);
    if (choice >= 0 && p.gate)
        v *= p.gate[choice];
    y[i] = from_float<T>(v);
}

template <class T>
__global__ void __launch_bounds__(BLOCK)
    moe_combine_kernel(const T *y, T *z, moe_places p)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    float sum = 0;

    if (i >= p.count)
        return;
    int64_t first = i / p.channels * p.top;

    for (int64_t k = first; k < first + p.top; k++)
        if (p.slot[k] >= 0)
            sum += to_float(y[(int64_t)p.slot[k] * p.channels + i % p.channels]) *
                   (p.gate ? p.gate[k] : 1);
    z[i] = from_float<T>(sum);
}

template <class T>
__global__ void __launch_bounds__(BLOCK)
    moe_gate_kernel(const T *dz, const T *y, float *dgate, moe_places p)
{
    int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    float sum = 0;

    if (i >= p.count)
        return;
    const T *a = dz + i / p.top * p.channels, *b = y + (int64_t)p.slot[i] * p.channels;

    for (int c = (int)threadIdx.x % 32; p.slot[i] >= 0 && c < p.channels; c += 32)
        sum += to_float(a[c]) * to_float(b[c]);
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0)
        dgate[i] = sum;
}

static const char *moe_rows_claim(struct region *r, struct graph *, struct node *n,
                                  struct device *)
{
    bool gates = n->op == &op_moe_gate_grad;
    const struct tensor *same = gates ? n->in[MOE_GATE_GRAD_Y] : n->out[0];

    if (n->op != &op_moe_dispatch && n->op != &op_moe_combine && !gates)
        return "no rows of experts";
    if (n->in[0]->dtype != same->dtype)
        return "one type for all rows";
    region_claim_node(r, n);
    return nullptr;
}

static void gate_run(struct step *s, struct device *dev)
{
    const struct tensor *y = s->in_tensor[MOE_GATE_GRAD_Y];
    const struct tensor *slot = s->in_tensor[MOE_GATE_GRAD_SLOT];
    moe_places p = {(const int32_t *)s->in[MOE_GATE_GRAD_SLOT],
                    nullptr,
                    nullptr,
                    tensor_len(slot),
                    (int)slot->dim[1],
                    (int)y->dim[2]};
    unsigned blocks = (unsigned)((p.count + WARPS - 1) / WARPS);

    WITH_DTYPE(y->dtype, T,
               LAUNCH(dev, moe_gate_kernel<T>, blocks, BLOCK, 0,
                      (const T *)s->in[MOE_GATE_GRAD_DZ], (const T *)s->in[MOE_GATE_GRAD_Y],
                      (float *)s->out[0], p));
}

static void moe_rows_run(struct step *s, struct device *dev)
{
    if (s->node->op == &op_moe_gate_grad) {
        gate_run(s, dev);
        return;
    }

    const struct tensor *x = s->in_tensor[MOE_ROWS_X];
    bool gated = s->nin > MOE_ROWS_GATE;
    moe_places p = {(const int32_t *)s->in[MOE_ROWS_SLOT],
                    (const int32_t *)s->in[MOE_ROWS_TOKEN],
                    gated ? (const float *)s->in[MOE_ROWS_GATE] : nullptr,
                    tensor_len(s->out_tensor[0]),
                    (int)s->in_tensor[MOE_ROWS_SLOT]->dim[1],
                    (int)x->dim[x->ndim - 1]};
    unsigned blocks = (unsigned)((p.count + BLOCK - 1) / BLOCK);

    if (s->node->op == &op_moe_dispatch)
        WITH_DTYPE(x->dtype, T,
                   LAUNCH(dev, moe_dispatch_kernel<T>, blocks, BLOCK, 0,
                          (const T *)s->in[MOE_ROWS_X], (T *)s->out[0], p));
    else
        WITH_DTYPE(x->dtype, T,
                   LAUNCH(dev, moe_combine_kernel<T>, blocks, BLOCK, 0,
                          (const T *)s->in[MOE_ROWS_X], (T *)s->out[0], p));
}

extern const struct kernel cuda_moe_rows = {
    .name = "cuda moe_rows",
    .claim = moe_rows_claim,
    .run = moe_rows_run,
};
