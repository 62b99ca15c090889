/*
 * patch_merge and its gradient: a thread writes one pack of the result, including zeros.
 * Bytes: both tensors once.
 */
#include "ops/patch_merge.h"

#include "cuda/channels.h"
#include "cuda/kernels.h"
#include "graph/kernel.h"

enum { BLOCK = 256 };

/* Channels of x in packs; in_: positions of x, out_: of the merged tensor. */
struct merge {
    int64_t items;
    int channels, in_h, in_w, out_h, out_w;
};

template <class T, int N>
__global__ void __launch_bounds__(BLOCK) merge_forward(const T *x, T *y, merge k)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x, part = i / k.channels;
    int quarter = (int)(part % 4);
    int64_t at = part / 4, row = at / k.out_w, sample = row / k.out_h;
    int h = (int)(row % k.out_h) * 2 + quarter % 2;
    int w = (int)(at % k.out_w) * 2 + quarter / 2;
    pack<T, N> a = {};

    if (i >= k.items)
        return;
    if (h < k.in_h && w < k.in_w)
        a = pack_load<N>(
            x + (((sample * k.in_h + h) * k.in_w + w) * k.channels + i % k.channels) * N);
    pack_store<T, N>(y + i * N, a);
}

template <class T, int N>
__global__ void __launch_bounds__(BLOCK) merge_backward(const T *dy, T *dx, merge k)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x, at = i / k.channels;
    int64_t row = at / k.in_w, sample = row / k.in_h;
    int h = (int)(row % k.in_h), w = (int)(at % k.in_w);
    int64_t merged = (sample * k.out_h + h / 2) * k.out_w + w / 2;
    int quarter = h % 2 + 2 * (w % 2);

    if (i < k.items)
        pack_store<T, N>(
            dx + i * N,
            pack_load<N>(dy +
                         ((merged * 4 + quarter) * k.channels + i % k.channels) * N));
}

static const char *merge_claim(struct region *r, struct graph *, struct node *n,
                               struct device *)
{
    if (n->op != &op_patch_merge && n->op != &op_patch_merge_grad)
        return "not a patch_merge";
    if (n->in[0]->dtype != n->out[0]->dtype)
        return "one type for all";

    region_claim_node(r, n);
    return nullptr;
}

template <class T, int N>
static void merge_launch(const struct step *s, struct device *dev)
{
    bool grad = s->node->op == &op_patch_merge_grad;
    const struct tensor *x = grad ? s->out_tensor[0] : s->in_tensor[0];
    const struct tensor *y = grad ? s->in_tensor[0] : s->out_tensor[0];
    merge k = {.items = tensor_len(s->out_tensor[0]) / N,
               .channels = (int)x->dim[3] / N,
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
