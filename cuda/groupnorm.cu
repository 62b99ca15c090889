/*
 * groupnorm and its gradient. Forward: a block computes the statistics of a group of an
 * image, then each thread normalizes packs of channels. Backward: a block sums a tile of
 * channels of an image over its pixels; then the means of each group, dweight, and dbias
 * follow from these sums; then dx. Sums are in a fixed order. Bytes: x twice (once from
 * L2, as a block reads its group again for the variance) and y; x and dy twice and dx.
 */
#include "ops/groupnorm.h"

#include "cuda/channels.h"
#include "cuda/kernels.h"
#include "cuda/reduce.h"
#include "graph/kernel.h"
#include "ops/image.h"
#include "ops/layernorm_formula.h"

enum { BLOCK = 256 };

struct groups {
    int images, pixels, channels, n, each; /* n: groups, of `each` channels */
    float eps;
};

static const char *groupnorm_claim(struct region *r, struct graph *, struct node *n,
                                   struct device *)
{
    bool grad = n->op == &op_groupnorm_grad;
    const struct tensor *x = n->in[0];

    if (n->op != &op_groupnorm && !grad)
        return "no groupnorm";
    if (x->dtype != n->out[0]->dtype ||
        (grad && n->in[GROUPNORM_GRAD_DY]->dtype != x->dtype))
        return "one type for all";

    region_claim_node(r, n);
    if (grad) {
        const struct groupnorm_attrs *a = (const struct groupnorm_attrs *)n->attrs;

        region_workspace(r,
                         (size_t)(2 * x->dim[IMAGE_N] * (x->dim[IMAGE_C] + a->groups)) *
                             sizeof(float));
    } else if (n->nout > GROUPNORM_MEAN) {
        region_workspace(r, (size_t)(2 * tensor_len(n->out[GROUPNORM_MEAN])) *
                                sizeof(float));
    }
    return nullptr;
}

/* A block: group blockIdx.x % n of image blockIdx.x / n. */
template <class T>
__global__ void __launch_bounds__(BLOCK)
    groupnorm_statistics(const T *x, float *mean, float *rstd, groups k)
{
    __shared__ float shared[BLOCK / 32];
    int64_t image = blockIdx.x / (unsigned)k.n;
    int first = (int)(blockIdx.x % (unsigned)k.n) * k.each, all = k.pixels * k.each;
    const T *src = x + image * k.pixels * k.channels + first;
    float sum = 0, squares = 0, rest = 0, m; /* rest: what rounding left of m */

    for (int i = (int)threadIdx.x; i < all; i += BLOCK)
        sum += to_float(src[(int64_t)(i / k.each) * k.channels + i % k.each]);
    m = block_sum<BLOCK>(sum, shared) / (float)all;
    for (int i = (int)threadIdx.x; i < all; i += BLOCK) {
        float d = to_float(src[(int64_t)(i / k.each) * k.channels + i % k.each]) - m;

        rest += d;
        squares += d * d;
    }
    rest = block_sum<BLOCK>(rest, shared) / (float)all;
    squares = block_sum<BLOCK>(squares, shared);
    if (threadIdx.x == 0) {
        mean[blockIdx.x] = m + rest;
        rstd[blockIdx.x] = layernorm_rstd(squares / (float)all - rest * rest, k.eps);
    }
}

template <class T, int N>
__global__ void __launch_bounds__(BLOCK)
    groupnorm_apply(const T *x, const float *mean, const float *rstd, const float *weight,
                    const float *bias, T *y, groups k)
{
    int64_t i = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) * N;
    int64_t image = i / ((int64_t)k.pixels * k.channels);
    int channel = (int)(i % k.channels);

    if (image >= k.images)
        return;

    pack<T, N> a = pack_load<N>(x + i);

    for (int e = 0; e < N; e++) {
        int c = channel + e;
        int64_t g = image * k.n + c / k.each;
        float xhat = layernorm_xhat(a.get(e), mean[g], rstd[g]);

        a.set(e, layernorm_value(xhat, weight[c], bias[c]));
    }
    pack_store<T, N>(y + i, a);
}

/* sums: [image][2][channel] of dy and dy xhat. A block: a tile of channels of an image. */
template <class T, int N>
__global__ void __launch_bounds__(TILE_THREADS)
    groupnorm_sums(const T *x, const T *dy, const float *mean, const float *rstd,
                   float *sums, tile t, groups k)
{
    __shared__ float shared[TILE_THREADS * N];
    place p = place_of<N>(t, (int)(blockIdx.x % (unsigned)t.tiles));
    int64_t image = blockIdx.x / (unsigned)t.tiles;
    float sum[N] = {}, dot[N] = {}, m[N] = {}, r[N] = {};

    if (p.valid) {
        for (int e = 0; e < N; e++) {
            int64_t g = image * k.n + (p.channel + e) / k.each;

            m[e] = mean[g];
            r[e] = rstd[g];
        }
        for (int row = p.row; row < k.pixels; row += t.high) {
            int64_t pos = (image * k.pixels + row) * k.channels + p.channel;
            pack<T, N> a = pack_load<N>(x + pos), d = pack_load<N>(dy + pos);

            for (int e = 0; e < N; e++) {
                sum[e] += d.get(e);
                dot[e] += d.get(e) * layernorm_xhat(a.get(e), m[e], r[e]);
            }
        }
    }

    float of_dy = tile_sum<N>(t, p, sum, shared), of_dot = tile_sum<N>(t, p, dot, shared);
    int width = t.wide * N, channel = p.tile * width + (int)threadIdx.x;

    if ((int)threadIdx.x < width && channel < k.channels) {
        sums[image * 2 * k.channels + channel] = of_dy;
        sums[(image * 2 + 1) * k.channels + channel] = of_dot;
    }
}

/* The first images * n threads: means of a group of weight dy and weight dy xhat; the next
 * `channels` threads: dweight and dbias, which may be NULL. */
__global__ void __launch_bounds__(BLOCK)
    groupnorm_totals(const float *sums, const float *weight, float *means, float *dweight,
                     float *dbias, groups k)
{
    int i = (int)(blockIdx.x * BLOCK + threadIdx.x), c = i - k.images * k.n;
    float sum = 0, dot = 0;

    if (c < 0) {
        const float *image_sums = sums + (int64_t)(i / k.n) * 2 * k.channels;
        float n = (float)k.pixels * (float)k.each;

        for (int e = i % k.n * k.each; e < (i % k.n + 1) * k.each; e++) {
            sum += image_sums[e] * weight[e];
            dot += image_sums[k.channels + e] * weight[e];
        }
        means[2 * i] = sum / n;
        means[2 * i + 1] = dot / n;
    } else if (c < k.channels) {
        for (int64_t image = 0; image < k.images; image++) {
            sum += sums[image * 2 * k.channels + c];
            dot += sums[(image * 2 + 1) * k.channels + c];
        }
        if (dweight)
            dweight[c] = dot;
        if (dbias)
            dbias[c] = sum;
    }
}

template <class T, int N>
__global__ void __launch_bounds__(BLOCK)
    groupnorm_dx(const T *x, const T *dy, const float *mean, const float *rstd,
                 const float *weight, const float *means, T *dx, groups k)
{
    int64_t i = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) * N;
    int64_t image = i / ((int64_t)k.pixels * k.channels);
    int channel = (int)(i % k.channels);

    if (image >= k.images)
        return;

    pack<T, N> a = pack_load<N>(x + i), d = pack_load<N>(dy + i);

    for (int e = 0; e < N; e++) {
        int c = channel + e;
        int64_t g = image * k.n + c / k.each;
        float xhat = layernorm_xhat(a.get(e), mean[g], rstd[g]);

        a.set(e, layernorm_dx(d.get(e), weight[c], xhat, rstd[g], means[2 * g],
                              means[2 * g + 1]));
    }
    pack_store<T, N>(dx + i, a);
}

static groups groups_of(const struct step *s)
{
    const struct groupnorm_attrs *a = (const struct groupnorm_attrs *)s->node->attrs;
    const struct tensor *x = s->in_tensor[0];
    int channels = (int)x->dim[IMAGE_C];

    return {(int)x->dim[IMAGE_N],
            (int)(x->dim[IMAGE_H] * x->dim[IMAGE_W]),
            channels,
            a->groups,
            channels / a->groups,
            a->eps};
}

static void forward(struct step *s, struct device *dev, const groups &k)
{
    const struct tensor *x = s->in_tensor[0];
    float *scratch = (float *)s->workspace;
    float *mean = s->out[GROUPNORM_MEAN] ? (float *)s->out[GROUPNORM_MEAN] : scratch;
    float *rstd =
        s->out[GROUPNORM_RSTD] ? (float *)s->out[GROUPNORM_RSTD] : scratch + k.images * k.n;

    WITH_DTYPE(x->dtype, T, WITH_PACK(T, k.channels, N, {
                   LAUNCH(dev, groupnorm_statistics<T>, (unsigned)(k.images * k.n), BLOCK,
                          0, (const T *)s->in[0], mean, rstd, k);
                   LAUNCH(dev, (groupnorm_apply<T, N>),
                          cuda_blocks(tensor_len(x), BLOCK, N), BLOCK, 0,
                          (const T *)s->in[0], mean, rstd,
                          (const float *)s->in[GROUPNORM_WEIGHT],
                          (const float *)s->in[GROUPNORM_BIAS], (T *)s->out[0], k);
               }));
}

static void backward(struct step *s, struct device *dev, const groups &k)
{
    const struct tensor *x = s->in_tensor[0];
    const float *weight = (const float *)s->in[GROUPNORM_GRAD_WEIGHT];
    const float *mean = (const float *)s->in[GROUPNORM_GRAD_MEAN];
    const float *rstd = (const float *)s->in[GROUPNORM_GRAD_RSTD];
    float *sums = (float *)s->workspace;
    float *means = sums + (int64_t)2 * k.images * k.channels;

    WITH_DTYPE(
        x->dtype, T, WITH_PACK(T, k.channels, N, {
            const T *src = (const T *)s->in[0];
            const T *dy = (const T *)s->in[GROUPNORM_GRAD_DY];
            tile t = tile_of(k.pixels, k.channels, N);

            LAUNCH(dev, (groupnorm_sums<T, N>), (unsigned)(k.images * t.tiles),
                   TILE_THREADS, 0, src, dy, mean, rstd, sums, t, k);
            LAUNCH(dev, groupnorm_totals,
                   cuda_blocks((int64_t)k.images * k.n + k.channels, BLOCK, 1), BLOCK, 0,
                   sums, weight, means, (float *)s->out[GROUPNORM_GRAD_DWEIGHT],
                   (float *)s->out[GROUPNORM_GRAD_DBIAS], k);
            if (s->out[GROUPNORM_GRAD_DX])
                LAUNCH(dev, (groupnorm_dx<T, N>), cuda_blocks(tensor_len(x), BLOCK, N),
                       BLOCK, 0, src, dy, mean, rstd, weight, means, (T *)s->out[0], k);
        }));
}

static void groupnorm_run(struct step *s, struct device *dev)
{
    if (s->node->op == &op_groupnorm)
        forward(s, dev, groups_of(s));
    else
        backward(s, dev, groups_of(s));
}

extern const struct kernel cuda_groupnorm = {
    .name = "cuda groupnorm",
    .claim = groupnorm_claim,
    .run = groupnorm_run,
};
