/*
 * patch_merge and its gradient: a thread writes one pack of the result, including zeros.
 * Bytes: both tensors once.
 */
#include "ops/patch_merge.h"

#include "cuda/channels.h"
#include "cuda/divide.h"
#include "cuda/kernels.h"
#include "graph/kernel.h"
#include "ops/image.h"

enum { BLOCK = DIVIDE_BLOCK };

/* x: packs of a position of x; row and sample: positions of a row, and rows of a sample, of
 * the tensor that is written. */
struct merge {
    int64_t items;
    divider x, row, sample;
    int in_h, in_w, out_h, out_w; /* positions of x, and of the merged tensor */
};

/* A position of the tensor that is written. */
struct position {
    int sample, row, column;
};

__device__ static inline position position_of(const merge &k, unsigned pos)
{
    unsigned row = divide(k.row, pos), sample = divide(k.sample, row);

    return {(int)sample, (int)(row - sample * k.sample.divisor),
            (int)(pos - row * k.row.divisor)};
}

template <class T, int N>
__global__ void __launch_bounds__(BLOCK) merge_forward(const T *x, T *y, merge k)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    quotient part = divide_item(k.x, blockIdx.x, threadIdx.x);
    int quarter = (int)(part.quotient % 4);
    position p = position_of(k, (unsigned)(part.quotient / 4));
    int h = p.row * 2 + quarter % 2, w = p.column * 2 + quarter / 2;
    pack<T, N> a = {};

    if (i >= k.items)
        return;
    if (h < k.in_h && w < k.in_w)
        a = pack_load<N>(x + (((int64_t)(p.sample * k.in_h + h) * k.in_w + w) *
                                  k.x.divisor +
                              part.rest) *
                                 N);
    pack_store<T, N>(y + i * N, a);
}

template <class T, int N>
__global__ void __launch_bounds__(BLOCK) merge_backward(const T *dy, T *dx, merge k)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    quotient item = divide_item(k.x, blockIdx.x, threadIdx.x);
    position p = position_of(k, (unsigned)item.quotient);
    int64_t merged = (int64_t)(p.sample * k.out_h + p.row / 2) * k.out_w + p.column / 2;
    int quarter = p.row % 2 + 2 * (p.column % 2);

    if (i < k.items)
        pack_store<T, N>(
            dx + i * N,
            pack_load<N>(dy + ((merged * 4 + quarter) * k.x.divisor + item.rest) * N));
}

static const char *merge_claim(struct region *r, struct graph *, struct node *n,
                               struct device *)
{
    if (n->op != &op_patch_merge && n->op != &op_patch_merge_grad)
        return "not a patch_merge";
    if (n->in[0]->dtype != n->out[0]->dtype)
        return "one type for all";
    if (4 * tensor_len(n->in[0]) / tensor_channels(n->in[0]) >= INT32_MAX)
        return "at most 2^29 positions";

    region_claim_node(r, n);
    return nullptr;
}

template <class T, int N>
static void merge_launch(const struct step *s, struct device *dev)
{
    bool grad = s->node->op == &op_patch_merge_grad;
    const struct tensor *x = grad ? s->out_tensor[0] : s->in_tensor[0];
    const struct tensor *y = grad ? s->in_tensor[0] : s->out_tensor[0];
    const struct tensor *dst = s->out_tensor[0];
    merge k = {.items = tensor_len(dst) / N,
               .x = divider_of((unsigned)(x->dim[3] / N)),
               .row = divider_of((unsigned)dst->dim[2]),
               .sample = divider_of((unsigned)dst->dim[1]),
               .in_h = (int)x->dim[1],
               .in_w = (int)x->dim[2],
               .out_h = (int)y->dim[1],
               .out_w = (int)y->dim[2]};
    unsigned grid = cuda_blocks(k.items, BLOCK, 1);

    if (grad)
        LAUNCH(dev, (merge_backward<T, N>), grid, BLOCK, 0, (const T *)s->in[0],
               (T *)s->out[0], k);
    else
        LAUNCH(dev, (merge_forward<T, N>), grid, BLOCK, 0, (const T *)s->in[0],
               (T *)s->out[0], k);
}

static void merge_run(struct step *s, struct device *dev)
{
    const struct tensor *x =
        s->node->op == &op_patch_merge ? s->in_tensor[0] : s->out_tensor[0];

    WITH_DTYPE(x->dtype, T, WITH_PACK(T, x->dim[3], N, merge_launch<T, N>(s, dev)));
}

extern const struct kernel cuda_patch_merge = {
    .name = "cuda patch_merge",
    .claim = merge_claim,
    .run = merge_run,
};
