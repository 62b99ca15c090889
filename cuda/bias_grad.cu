/*
 * bias_grad: the sum of dy over all rows for each channel. Bytes: dy once. Two launches:
 * fp32 sums over the rows of a block, then fp64 over the blocks, in a fixed order.
 */
#include "ops/bias_grad.h"

#include "cuda/batchnorm.h"
#include "cuda/channels.h"
#include "cuda/kernels.h"
#include "graph/kernel.h"
#include "ops/image.h"

template <class T, int N>
__global__ void __launch_bounds__(TILE_THREADS)
    bias_grad_rows(const T *dy, float *part, tile t, int chunks)
{
    __shared__ __align__(16) float shared[TILE_THREADS * N];
    int chunk = (int)blockIdx.x / t.tiles;
    place p = place_of<N>(t, (int)blockIdx.x % t.tiles);
    float sum[N] = {};

    for (int64_t row = (int64_t)chunk * t.high + p.row; p.on && row < t.rows;
         row += (int64_t)chunks * t.high) {
        pack<T, N> a = pack_load<N>(dy + row * t.channels + p.channel);

        for (int i = 0; i < N; i++)
            sum[i] += a.get(i);
    }

    float s = tile_sum<N>(t, p, sum, shared);
    int c = p.tile * t.wide * N + (int)threadIdx.x;

    if ((int)threadIdx.x < t.wide * N && c < t.channels)
        part[(int64_t)chunk * t.channels + c] = s;
}

__global__ void __launch_bounds__(COMBINE_THREADS)
    bias_grad_combine(const float *part, float *db, int channels, int chunks)
{
    int c = (int)blockIdx.x * COMBINE_CHANNELS + (int)threadIdx.x % COMBINE_CHANNELS;
    double sum = 0;

    if (c < channels)
        for (int i = (int)threadIdx.x / COMBINE_CHANNELS; i < chunks;
             i += COMBINE_THREADS / COMBINE_CHANNELS)
            sum += (double)part[(int64_t)i * channels + c];
    sum = combine_sum(sum);
    if ((int)threadIdx.x < COMBINE_CHANNELS && c < channels)
        db[c] = (float)sum;
}

static tile tile_for(const struct tensor *dy)
{
    int64_t c = tensor_channels(dy), n = 16 / (int64_t)dtype_size(dy->dtype);

    return tile_of(tensor_len(dy) / c, c, c % n ? 1 : (int)n);
}

static int chunks_for(const tile &t, const struct device *dev)
{
    return tile_chunks(t, 4 * dev->what.multiprocessors);
}

static const char *bias_grad_claim(struct region *r, struct graph *, struct node *n,
                                   struct device *dev)
{
    tile t;

    if (n->op != &op_bias_grad)
        return "not the gradient of a bias";

    t = tile_for(n->in[BIAS_GRAD_DY]);
    region_take(r, n);
    (void)region_read(r, n->in[BIAS_GRAD_DY]);
    (void)region_write(r, n->out[0]);
    region_workspace(r, (size_t)chunks_for(t, dev) * (size_t)t.channels * sizeof(float));
    return nullptr;
}

static void bias_grad_run(struct step *s, struct device *dev)
{
    const struct tensor *dy = s->in_tensor[0];
    tile t = tile_for(dy);
    int chunks = chunks_for(t, dev);
    float *part = (float *)s->workspace;

    WITH_DTYPE(dy->dtype, T, {
        WITH_PACK(T, t.channels, N, {
            LAUNCH(dev, (bias_grad_rows<T, N>), (unsigned)(chunks * t.tiles),
                   TILE_THREADS, 0, (const T *)s->in[0], part, t, chunks);
        });
    });
    LAUNCH(dev, bias_grad_combine, combine_blocks(t.channels), COMBINE_THREADS, 0, part,
           (float *)s->out[0], t.channels, chunks);
}

extern const struct kernel cuda_bias_grad = {
    .name = "cuda bias_grad",
    .claim = bias_grad_claim,
    .run = bias_grad_run,
};
