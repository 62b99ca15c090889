/*
 * pad_end and its gradient: a thread copies one pack of channels of a pixel, or stores
 * zeros. Bytes: the smaller image read, the result written.
 */
#include "ops/pad_end.h"

#include "cuda/channels.h"
#include "cuda/kernels.h"
#include "cuda/pool.h"
#include "graph/kernel.h"
#include "ops/image.h"

struct pad_sizes {
    int packs, in_h, in_w, out_h, out_w;
    unsigned blocks; /* per image of the result */
};

static const char *pad_end_claim(struct region *r, struct graph *, struct node *n,
                                 struct device *)
{
    if (n->op != &op_pad_end && n->op != &op_pad_end_grad)
        return "no pad_end";
    if (n->in[0]->dtype != n->out[0]->dtype)
        return "one type for all";

    region_claim_node(r, n);
    return nullptr;
}

template <class T, int N>
__global__ void __launch_bounds__(POOL_THREADS) copy_pixels(const T *x, T *y, pad_sizes p)
{
    pixel_index s = pixel_index_of(p.blocks, p.packs, p.out_h, p.out_w);
    pack<T, N> a = {};

    if (!s.valid)
        return;

    int64_t start = ((int64_t)s.image * p.in_h + s.h) * p.in_w + s.w;
    int64_t dst = ((int64_t)s.image * p.out_h + s.h) * p.out_w + s.w;

    if (s.h < p.in_h && s.w < p.in_w)
        a = pack_load<N>(x + (start * p.packs + s.pack) * N);
    pack_store<T, N>(y + (dst * p.packs + s.pack) * N, a);
}

static void pad_end_run(struct step *s, struct device *dev)
{
    const struct tensor *x = s->in_tensor[0], *y = s->out_tensor[0];
    pad_sizes p = {};

    p.in_h = (int)x->dim[IMAGE_H];
    p.in_w = (int)x->dim[IMAGE_W];
    p.out_h = (int)y->dim[IMAGE_H];
    p.out_w = (int)y->dim[IMAGE_W];
    WITH_DTYPE(y->dtype, T, WITH_PACK(T, y->dim[IMAGE_C], N, {
                   p.packs = (int)y->dim[IMAGE_C] / N;
                   p.blocks = spot_blocks(p.packs, p.out_h, p.out_w);
                   LAUNCH(dev, (copy_pixels<T, N>), p.blocks * (unsigned)y->dim[IMAGE_N],
                          POOL_THREADS, 0, (const T *)s->in[0], (T *)s->out[0], p);
               }));
}

extern const struct kernel cuda_pad_end = {
    .name = "cuda pad_end",
    .claim = pad_end_claim,
    .run = pad_end_run,
};
