/*
 * gather, its gradient, and constants: a thread computes an element of the result. The
 * lists of positions and the numbers of constants are tables on the device.
 */
#include "ops/gather.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cuda/device.h"
#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/table.h"
#include "cuda/vec.h"
#include "graph/kernel.h"
#include "ops/constant.h"

enum { BLOCK = 256 };

struct gather_sizes {
    int64_t count; /* elements of the result */
    int64_t extent, inner, n;
};

struct gather_state {
    int table; /* derived: the positions, or first and item of the lists */
};

template <class T>
__global__ void __launch_bounds__(BLOCK)
    gather_forward(const T *x, T *y, const int32_t *index, gather_sizes z)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;

    if (i >= z.count)
        return;
    int64_t k = i % z.inner, row = i / z.inner, start = index[row % z.n];

    y[i] = start < 0 ? from_float<T>(0) : x[(row / z.n * z.extent + start) * z.inner + k];
}

template <class T>
__global__ void __launch_bounds__(BLOCK)
    gather_backward(const T *dy, T *dx, const int32_t *first, const int32_t *item,
                    gather_sizes z)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    float sum = 0;

    if (i >= z.count)
        return;
    int64_t k = i % z.inner, row = i / z.inner, r = row % z.extent;

    for (int32_t pos = first[r]; pos < first[r + 1]; pos++)
        sum += to_float(dy[(row / z.extent * z.n + item[pos]) * z.inner + k]);
    dx[i] = from_float<T>(sum);
}

/* Transfers first and item of the lists as one table. */
static int put_lists(struct region *r, struct device *dev, const struct gather_attrs *a)
{
    struct gather_lists l = gather_lists(a);
    size_t nfirst = (size_t)a->extent + 1, nitem = (size_t)a->n;
    int32_t *both = (int32_t *)xcalloc(nfirst + nitem, sizeof(*both));
    int table;

    memcpy(both, l.first, nfirst * sizeof(*both));
    memcpy(both + nfirst, l.item, nitem * sizeof(*both));
    table = cuda_table(r, dev, both, (nfirst + nitem) * sizeof(*both));
    free(both);
    gather_lists_release(&l);
    return table;
}

static const char *gather_claim(struct region *r, struct graph *, struct node *n,
                                struct device *dev)
{
    gather_state *st = (gather_state *)region_state(r);
    const struct gather_attrs *a = (const struct gather_attrs *)n->attrs;

    if (n->op != &op_gather && n->op != &op_gather_grad)
        return "no gather";
    if (n->in[0]->dtype != n->out[0]->dtype)
        return "one type for all";

    region_claim_node(r, n);
    st->table = n->op == &op_gather
                    ? cuda_table(r, dev, a->index, (size_t)a->n * sizeof(*a->index))
                    : put_lists(r, dev, a);
    return nullptr;
}

static void gather_run(struct step *s, struct device *dev)
{
    const struct gather_attrs *a = (const struct gather_attrs *)s->node->attrs;
    const gather_state *st = (const gather_state *)s->state;
    const int32_t *table = (const int32_t *)s->derived[st->table];
    const struct tensor *out = s->out_tensor[0];
    gather_sizes z = {tensor_len(out), a->extent, a->inner, a->n};
    unsigned blocks = (unsigned)((z.count + BLOCK - 1) / BLOCK);

    if (s->node->op == &op_gather) {
        WITH_DTYPE(out->dtype, T,
                   LAUNCH(dev, gather_forward<T>, blocks, BLOCK, 0, (const T *)s->in[0],
                          (T *)s->out[0], table, z));
        return;
    }
    WITH_DTYPE(out->dtype, T,
               LAUNCH(dev, gather_backward<T>, blocks, BLOCK, 0, (const T *)s->in[0],
                      (T *)s->out[0], table, table + a->extent + 1, z));
}

extern const struct kernel cuda_gather = {
    .name = "cuda gather",
    .claim = gather_claim,
    .run = gather_run,
    .state_size = sizeof(gather_state),
};

static const char *constant_claim(struct region *r, struct graph *, struct node *n,
                                  struct device *dev)
{
    gather_state *st = (gather_state *)region_state(r);
    const struct constant_attrs *a = (const struct constant_attrs *)n->attrs;

    if (n->op != &op_constant)
        return "no constant";
    if (n->out[0]->dtype != DTYPE_F32)
        return "fp32 only";

    region_claim_node(r, n);
    st->table = cuda_table(r, dev, a->data, tensor_size(n->out[0]));
    return nullptr;
}

static void constant_run(struct step *s, struct device *dev)
{
    const gather_state *st = (const gather_state *)s->state;

    CUDA_CHECK(dev, cudaMemcpyAsync(s->out[0], s->derived[st->table],
                                    tensor_size(s->out_tensor[0]),
                                    cudaMemcpyDeviceToDevice, dev->stream));
}

extern const struct kernel cuda_constant = {
    .name = "cuda constant",
    .claim = constant_claim,
    .run = constant_run,
    .state_size = sizeof(gather_state),
};
