/*
 * bias_grad, and the sum of x dy, the gradient of layer_scale's gamma. dy is read once;
 * if a convolution fills a joined tensor, that tensor's dy is read. Two launches: in the
 * first, a thread sums some dozens of rows in fp32 and a block stores a row of sums; the
 * second adds these in fp64, in a fixed order. If dy is a batch norm's dx, which sums to
 * zero, nothing is read (cuda/batchnorm_dx.cu, or here if it is one of several joined
 * channel ranges).
 */
#include "ops/bias_grad.h"

#include "cuda/bias_grad.h"

#include "cuda/batchnorm.h"
#include "cuda/kernels.h"
#include "cuda/pad.h"
#include "graph/kernel.h"
#include "ops/batchnorm_parts.h"
#include "ops/concat.h"
#include "ops/layer_scale.h"

enum { BLOCKS = 4, UNROLL = 4 }; /* per multiprocessor */

struct bias_state {
    tile t;
    int chunks, channels; /* own: channels of the result */
    bool zero;
    int64_t first; /* with zero: first channel within the batch norm's */
};

/*
 * If dy is all channels, or those from *channel on, of a batch norm's dx: returns the offset
 * that it adds to each channel, which is NaN where dx is. Else returns NULL.
 */
static struct tensor *offset_of_dx(const struct tensor *dy, int64_t *channel)
{
    const struct tensor *whole = channel_slice_of(dy, channel);
    const struct node *p = (whole ? whole : dy)->producer;

    if (!whole)
        *channel = 0;
    return p && p->op == &op_batchnorm_grad_apply ? p->in[BATCHNORM_GRAD_APPLY_OFFSET]
                                                  : nullptr;
}

int bias_grad_chunks(const struct device *dev, const tile *t)
{
    return tile_chunks(*t, dev->what.multiprocessors * BLOCKS);
}

static const char *bias_grad_claim(struct region *r, struct graph *, struct node *n,
                                   struct device *dev)
{
    bias_state *st = (bias_state *)region_state(r);

    if (n->op != &op_bias_grad && n->op != &op_layer_scale_gamma_grad)
        return "not the gradient of a bias, nor of gamma";

    bool dot = n->op != &op_bias_grad;
    struct tensor *dy = n->in[n->nin - 1], *joined = dot ? nullptr : cuda_joined(dy);
    struct tensor *offset = dot ? nullptr : offset_of_dx(dy, &st->first);

    if (n->in[0]->dtype != dy->dtype)
        return "one type for x and dy";
    if (offset) {
        st->zero = true;
        st->channels = (int)tensor_len(n->out[0]);
        region_claim(r, n);
        (void)region_read(r, offset);
        (void)region_write(r, n->out[0]);
        return nullptr;
    }

    if (joined)
        dy = joined;

    int64_t channels = joined ? joined->dim[1] : tensor_len(n->out[0]);
    int64_t rows = tensor_len(dy) / channels;

    WITH_DTYPE(dy->dtype, T, {
        st->t = tile_of(rows, channels, channels % vec<T>::N ? 1 : vec<T>::N);
    });
    st->chunks = bias_grad_chunks(dev, &st->t);
    st->channels = (int)tensor_len(n->out[0]);
    region_claim(r, n);
    if (joined)
        region_duplicate(r, n->in[BIAS_GRAD_DY]->producer);
    (void)region_read(r, dy);
    if (dot)
        (void)region_read(r, n->in[LAYER_SCALE_GAMMA_GRAD_X]);
    (void)region_write(r, n->out[0]);
    region_workspace(r, (size_t)st->chunks * (size_t)channels * sizeof(float));
    return nullptr;
}

template <class D>
__global__ void __launch_bounds__(TILE_THREADS)
    zero_or_nan(const float *offset, D *db, int channels_used)
{
    int c = (int)(blockIdx.x * TILE_THREADS + threadIdx.x);

    if (c >= channels_used)
        return;
    db[c] = from_float<D>(0 * offset[c]);
}

/* sums [chunks][channels], of dy or of dy x */
template <class T, int N, bool DOT>
__global__ void __launch_bounds__(TILE_THREADS)
    sum_rows(const T *dy, const T *x, float *sums, tile t, int chunks)
{
    __shared__ __align__(16) float shared[TILE_THREADS * N];
    int chunk = (int)blockIdx.x / t.tiles;
    place p = place_of<N>(t, (int)blockIdx.x % t.tiles);
    int64_t row = (int64_t)chunk * t.high + p.row, step = (int64_t)chunks * t.high;
    int64_t left = p.valid && row < t.rows ? (t.rows - row + step - 1) / step : 0;
    int64_t pos = row * t.channels + p.channel, jump = step * t.channels;
    float sum[N] = {};

    for (; left > 0; left -= UNROLL, pos += UNROLL * jump) {
        pack<T, N> a[UNROLL], b[UNROLL];

        for (int u = 0; u < UNROLL; u++)
            if (u < left) {
                a[u] = pack_load<N>(dy + pos + u * jump);
                if (DOT)
                    b[u] = pack_load<N>(x + pos + u * jump);
            }
        for (int u = 0; u < UNROLL; u++)
            for (int i = 0; i < N && u < left; i++)
                sum[i] = DOT ? fmaf(a[u].get(i), b[u].get(i), sum[i])
                             : sum[i] + a[u].get(i);
    }

    float all = tile_sum<N>(t, p, sum, shared);
    int c = p.tile * t.wide * N + (int)threadIdx.x;

    if ((int)threadIdx.x < t.wide * N && c < t.channels)
        sums[(int64_t)chunk * t.channels + c] = all;
}

template <class D>
__global__ void __launch_bounds__(COMBINE_THREADS)
    sum_chunks(const float *sums, D *db, int channels_used, int channels, int chunks)
{
    int c = (int)blockIdx.x * COMBINE_CHANNELS + (int)threadIdx.x % COMBINE_CHANNELS;
    double sum = 0;

    if (c < channels)
        for (int i = (int)threadIdx.x / COMBINE_CHANNELS; i < chunks;
             i += COMBINE_THREADS / COMBINE_CHANNELS)
            sum += (double)sums[(int64_t)i * channels + c];
    sum = combine_sum(sum);
    if ((int)threadIdx.x < COMBINE_CHANNELS && c < channels_used)
        db[c] = from_float<D>((float)sum);
}

void bias_grad_combine(struct device *dev, const float *sums, void *db, enum dtype type,
                       int channels_used, int channels, int chunks)
{
    WITH_DTYPE(type, D, {
        LAUNCH(dev, sum_chunks<D>, combine_blocks(channels), COMBINE_THREADS, 0, sums, (D *)db,
               channels_used, channels, chunks);
    });
}

static void bias_grad_run(struct step *s, struct device *dev)
{
    const bias_state *st = (const bias_state *)s->state;
    unsigned grid = (unsigned)(st->t.tiles * st->chunks);
    enum dtype type = s->out_tensor[0]->dtype;
    float *sums = (float *)s->workspace;

    if (st->zero) {
        WITH_DTYPE(type, D, {
            LAUNCH(dev, zero_or_nan<D>, cuda_blocks(st->channels, TILE_THREADS, 1),
                   TILE_THREADS, 0, (const float *)s->in[0] + st->first, (D *)s->out[0],
                   st->channels);
        });
        return;
    }
    WITH_DTYPE(s->in_tensor[0]->dtype, T, {
        WITH_PACK(T, st->t.channels, N, {
            if (s->nin > 1)
                LAUNCH(dev, (sum_rows<T, N, true>), grid, TILE_THREADS, 0,
                       (const T *)s->in[0], (const T *)s->in[1], sums, st->t, st->chunks);
            else
                LAUNCH(dev, (sum_rows<T, N, false>), grid, TILE_THREADS, 0,
                       (const T *)s->in[0], (const T *)nullptr, sums, st->t, st->chunks);
        });
    });
    bias_grad_combine(dev, sums, s->out[0], type, st->channels, st->t.channels, st->chunks);
}

extern const struct kernel cuda_bias_grad = {
    .name = "cuda bias_grad",
    .claim = bias_grad_claim,
    .run = bias_grad_run,
    .state_size = sizeof(bias_state),
};
