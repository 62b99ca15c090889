/*
 * Ops with one number per image and channel: global_avgpool and its gradient,
 * scale_channels and the gradient of its scale.
 *
 * Sums over the pixels (mean of x; sum of x dy): a block has one image and a tile of its
 * channels. Products (dy / pixels; x s): a block has some rows of that tile; a thread
 * loads its channels' values once. Bytes: each tensor once. Sums are fp32, in a fixed
 * order.
 */
#include "ops/global_avgpool.h"

#include "cuda/channels.h"
#include "cuda/kernels.h"
#include "graph/kernel.h"
#include "ops/scale_channels.h"

enum { PRODUCT_EACH = 8 }; /* rows per thread */

/* to[image, channel] = factor * sum of x [y]; `t` describes one image. */
template <class T, int N, bool DOT>
__global__ void __launch_bounds__(TILE_THREADS)
    pixel_sum(const T *x, const T *y, T *dst, tile t, float factor)
{
    enum { UNROLL = 4 };
    __shared__ __align__(16) float shared[TILE_THREADS * N];
    int64_t image = blockIdx.x / t.tiles;
    place p = place_of<N>(t, (int)blockIdx.x % t.tiles);
    float sum[N] = {};

    for (int64_t row = p.row; p.valid && row < t.rows; row += UNROLL * t.high) {
        int64_t pos = (image * t.rows + row) * t.channels + p.channel;
        pack<T, N> a[UNROLL], b[UNROLL];

        for (int u = 0; u < UNROLL; u++)
            if (row + u * t.high < t.rows) {
                a[u] = pack_load<N>(x + pos + (int64_t)u * t.high * t.channels);
                if (DOT)
                    b[u] = pack_load<N>(y + pos + (int64_t)u * t.high * t.channels);
            }
        for (int u = 0; u < UNROLL; u++)
            if (row + u * t.high < t.rows)
                for (int i = 0; i < N; i++)
                    sum[i] += DOT ? a[u].get(i) * b[u].get(i) : a[u].get(i);
    }

    float s = tile_sum<N>(t, p, sum, shared);
    int c = p.tile * t.wide * N + (int)threadIdx.x;

    if ((int)threadIdx.x < t.wide * N && c < t.channels)
        dst[image * t.channels + c] = from_float<T>(s * factor);
}

/* y = s[image, channel] * factor [* x] */
template <class T, int N, bool SCALE>
__global__ void __launch_bounds__(TILE_THREADS)
    pixel_multiply(const T *x, const T *s, T *y, tile t, unsigned chunks, float factor)
{
    unsigned block = blockIdx.x / (unsigned)t.tiles;
    int64_t image = block / chunks;
    place p = place_of<N>(t, (int)(blockIdx.x - block * (unsigned)t.tiles));
    int64_t row = (int64_t)(block % chunks) * t.high * PRODUCT_EACH + p.row;
    pack<T, N> f;

    if (!p.valid)
        return;
    f = pack_load<N>(s + image * t.channels + p.channel);
    for (int e = 0; e < PRODUCT_EACH; e++, row += t.high) {
        int64_t pos = (image * t.rows + row) * t.channels + p.channel;
        pack<T, N> a;

        if (row >= t.rows)
            return;
        if (SCALE)
            a = pack_load<N>(x + pos);
        for (int i = 0; i < N; i++)
            a.set(i, f.get(i) * (SCALE ? a.get(i) : factor));
        pack_store<T, N>(y + pos, a);
    }
}

static const char *pixels_claim(struct region *r, struct graph *, struct node *n,
                                struct device *)
{
    if (n->op != &op_global_avgpool && n->op != &op_global_avgpool_grad &&
        n->op != &op_scale_channels && n->op != &op_scale_channels_scale_grad)
        return "nothing with one number for each image and channel";
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->dtype != n->out[0]->dtype)
            return "one type for all";

    region_claim_node(r, n);
    if (n->op == &op_scale_channels)
        region_inplace(r, 0, SCALE_CHANNELS_X);
    return nullptr;
}

template <class T, int N>
static void sum_launch(const struct step *s, struct device *dev, bool dot)
{
    const struct tensor *x = s->in_tensor[0];
    int64_t pixels = x->dim[2] * x->dim[3];
    tile t = tile_of(pixels, x->dim[1], N);
    unsigned grid = (unsigned)(x->dim[0] * t.tiles);

    if (dot)
        LAUNCH(dev, (pixel_sum<T, N, true>), grid, TILE_THREADS, 0,
               (const T *)s->in[SCALE_CHANNELS_SCALE_GRAD_X],
               (const T *)s->in[SCALE_CHANNELS_SCALE_GRAD_DY], (T *)s->out[0], t, 1.0f);
    else
        LAUNCH(dev, (pixel_sum<T, N, false>), grid, TILE_THREADS, 0, (const T *)s->in[0],
               (const T *)nullptr, (T *)s->out[0], t, 1 / (float)pixels);
}

template <class T, int N>
static void multiply_launch(const struct step *s, struct device *dev, bool scale)
{
    const struct tensor *y = s->out_tensor[0];
    int64_t pixels = y->dim[2] * y->dim[3];
    tile t = tile_of(pixels, y->dim[1], N);
    int64_t rows = (int64_t)t.high * PRODUCT_EACH, chunks = (pixels + rows - 1) / rows;
    unsigned grid = (unsigned)(y->dim[0] * chunks * t.tiles);

    if (scale)
        LAUNCH(dev, (pixel_multiply<T, N, true>), grid, TILE_THREADS, 0,
               (const T *)s->in[SCALE_CHANNELS_X], (const T *)s->in[SCALE_CHANNELS_S],
               (T *)s->out[0], t, (unsigned)chunks, 1.0f);
    else
        LAUNCH(dev, (pixel_multiply<T, N, false>), grid, TILE_THREADS, 0,
               (const T *)nullptr, (const T *)s->in[0], (T *)s->out[0], t,
               (unsigned)chunks, 1 / (float)pixels);
}

static void pixels_run(struct step *s, struct device *dev)
{
    const struct op *op = s->node->op;
    bool sum = op == &op_global_avgpool || op == &op_scale_channels_scale_grad;
    bool two = op == &op_scale_channels || op == &op_scale_channels_scale_grad;

    WITH_DTYPE(s->out_tensor[0]->dtype, T, WITH_PACK(T, s->out_tensor[0]->dim[1], N, {
                   if (sum)
                       sum_launch<T, N>(s, dev, two);
                   else
                       multiply_launch<T, N>(s, dev, two);
               }));
}

extern const struct kernel cuda_global_avgpool = {
    .name = "cuda global_avgpool",
    .claim = pixels_claim,
    .run = pixels_run,
};
