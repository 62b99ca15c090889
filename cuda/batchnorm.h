/* Shared by the batch norm kernels: graph matching, and constants. */
#ifndef CUDA_BATCHNORM_H
#define CUDA_BATCHNORM_H

#include "cuda/channels.h"
#include "graph/kernel.h"
#include "ops/control.h"
#include "ops/dropout_formula.h"
#include "ops/share.h"

/* Blocks of a reduction per multiprocessor: as many as its registers allow. */
enum { STATS_BLOCKS = 4, GRAD_BLOCKS = 2 };

/* Second stage: a block has COMBINE_CHANNELS channels with COMBINE_THREADS /
 * COMBINE_CHANNELS threads each. */
enum { COMBINE_CHANNELS = 8, COMBINE_THREADS = 512 };

/*
 * Sums v over the threads of a block of COMBINE_THREADS that share threadIdx.x %
 * COMBINE_CHANNELS; the first COMBINE_CHANNELS threads get the sums. Fixed order.
 */
__device__ static inline double combine_sum(double v)
{
    __shared__ double warp[COMBINE_THREADS / 32 * COMBINE_CHANNELS];
    int t = (int)threadIdx.x;

    for (int lanes = COMBINE_CHANNELS; lanes < 32; lanes *= 2)
        v += __shfl_xor_sync(0xffffffffu, v, lanes);
    __syncthreads(); /* wait until `warp` has been read */
    if (t % 32 < COMBINE_CHANNELS)
        warp[t / 32 * COMBINE_CHANNELS + t % 32] = v;
    __syncthreads();
    if (t >= COMBINE_CHANNELS)
        return 0;
    for (int i = 1; i < COMBINE_THREADS / 32; i++)
        v += warp[i * COMBINE_CHANNELS + t];
    return v;
}

static inline unsigned combine_blocks(int64_t channels)
{
    return (unsigned)((channels + COMBINE_CHANNELS - 1) / COMBINE_CHANNELS);
}

/* The inputs of a dropout2d's factors. A sample has `pixels` rows. */
struct channel_mask {
    const struct control *control;
    uint32_t salt;
    float rate;
    int64_t pixels;
    struct share share;
};

/* The factors of N channels of a sample, until row `end`. */
template <int N> struct masked {
    float factor[N] = {};
    int64_t end = 0;

    /* Updates them for this row of `channels` from `channel` on; a thread's rows must rise. */
    __device__ void advance(const channel_mask &m, int64_t row, int channels, int channel)
    {
        uint64_t seed, micro, first;

        if (row < end)
            return;
        end = (row / m.pixels + 1) * m.pixels;
        seed = m.control->seed;
        micro = (uint64_t)m.control->micro;
        first = (uint64_t)(share_image(m.share, row / m.pixels) * channels + channel);
        if constexpr (N % 4)
            for (int k = 0; k < N; k++)
                factor[k] =
                    dropout2d_factor(seed, micro, m.salt, first + (uint64_t)k, m.rate);
        else
            for (int k = 0; k < N; k += 4) {
                struct philox r =
                    dropout_block(seed, micro, m.salt, (first + (uint64_t)k) / 4);

                for (int j = 0; j < 4; j++)
                    factor[k + j] = dropout_factor(r.v[j], m.rate);
            }
    }
};

/* Returns the number of elements per channel. */
static inline int64_t image_rows(const struct tensor *x)
{
    return x->dim[0] * x->dim[2] * x->dim[3];
}

/* Returns the mask of a dropout2d node on images like x; `control`: as in the step. */
channel_mask channel_mask_of(const struct node *drop, const struct tensor *x,
                             const void *control);

/* Returns the pack for the number of channels of `t`. */
static inline int pack_of(const struct tensor *t)
{
    int n = 16 / (int)dtype_size(t->dtype);

    return t->dim[1] % n ? 1 : n;
}

static inline tile tile_of_image(const struct tensor *x)
{
    return tile_of(image_rows(x), x->dim[1], pack_of(x));
}

#endif
