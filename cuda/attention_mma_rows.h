/*
 * The second part of the gradient of window attention on tensor cores, after
 * attention_mma_pairs.h: sums for keys, gradients of q and k from those of their
 * directions, stores, and gradients of padding; and the two kinds of windows.
 */
#ifndef CUDA_ATTENTION_MMA_ROWS_H
#define CUDA_ATTENTION_MMA_ROWS_H

#include "cuda/attention_mma_pairs.h"

/* Windows of several tiles: writes dqkv, delta, pads [units][tiles][2][channels] (may be
 * NULL), and sums (cuda/window_attention.h). */
void attention_mma_tiles(const struct step *s, struct device *dev, const attention &k,
                         float *delta, float *pads, float *sums);

static inline int64_t attention_mma_count(const attention &k)
{
    constexpr int TILE = attention_mma<32>::TILE;

    static_assert(TILE == attention_mma<64>::TILE);
    return (k.tokens + TILE - 1) / TILE;
}

/* Sums over the first n queries for the warp's keys: pairs in shared memory times rows. */
template <class S, class T>
__device__ static inline void add_keys(const T *pairs, const T *rows, int n,
                                       mma_rows<S> &sum)
{
    mul_rows<S>(
        sum,
        [&](int i) { return mma_a_of_columns(pairs, S::PAIRS, i, 16 * mma_warp()); },
        rows, n);
}

/* Stores the gradient of q, k, or v for the rows of the warp. */
template <class S, class T>
__device__ static inline void store_grads(const attention &k, const unit &u,
                                          const token *tokens, const mma_rows<S> &x,
                                         T *tile, T *dqkv, int part)
{
    store_rows<S>(k, tokens, x, tile,
                  [&](int pixel) { return dqkv + part_at(k, u, pixel, part); });
}

/*
 * Converts the gradients of score rows to those of q or k, whose directions are in `tile`
 * with cosine attention; a norm clamped to its minimum counts as a constant.
 */
template <class S, class T>
__device__ static inline void finish_rows(const attention &k, const unit &u,
                                           const T *tile, const token *tokens,
                                           mma_rows<S> &d)
{
    UNROLL_WHOLE
    for (int c = 0; c < S::D / 8; c++)
        UNROLL_WHOLE
        for (int i = 0; i < 4; i++)
            d[c][i] *= u.scale;
    if (!k.logit_scale)
        return;
    UNROLL_WHOLE
    for (int half = 0; half < 2; half++) {
        int row = 16 * mma_warp() + mma_row(2 * half);
        const T *x = tile + row * S::STRIDE;
        float along = 0, inverse_norm = tokens[row].inverse_norm;

        UNROLL_WHOLE
        for (int c = 0; c < S::D / 8; c++)
            UNROLL_WHOLE
            for (int i = 2 * half; i < 2 * half + 2; i++)
                along += d[c][i] * to_float(x[8 * c + mma_column(i)]);
        along = mma_row_sum(along);
        if (!(1 / inverse_norm > WINDOW_ATTENTION_NORM))
            along = 0;
        UNROLL_WHOLE
        for (int c = 0; c < S::D / 8; c++)
            UNROLL_WHOLE
            for (int i = 2 * half; i < 2 * half + 2; i++)
                d[c][i] = (d[c][i] - along * to_float(x[8 * c + mma_column(i)])) * inverse_norm;
    }
}

/* Sums d over the tile's padded tokens, one number per feature; called by all threads. */
template <class S>
__device__ static inline void pad_rows(const attention &k, const token *key, int left,
                                       const mma_rows<S> &d, float *dst)
{
    __shared__ float sums[MMA_WARPS][S::D];
    int first = 16 * mma_warp(), feature = (int)threadIdx.x;
    bool padded[2];

    UNROLL_WHOLE
    for (int half = 0; half < 2; half++) {
        int row = first + mma_row(2 * half);

        padded[half] = row < left && key[row].pixel < 0;
    }
    __syncthreads(); /* wait until the sums have been read */
    UNROLL_WHOLE
    for (int c = 0; c < S::D / 8; c++)
        UNROLL_WHOLE
        for (int i = 0; i < 2; i++) {
            float v = (padded[0] ? d[c][i] : 0) + (padded[1] ? d[c][i + 2] : 0);

            for (int lanes = 4; lanes < 32; lanes *= 2)
                v += __shfl_xor_sync(0xffffffffu, v, lanes);
            if (mma_lane() < 4)
                sums[mma_warp()][8 * c + mma_column(i)] = v;
        }
    __syncthreads();
    if (feature < k.head)
        dst[feature] =
            (sums[0][feature] + sums[1][feature]) + (sums[2][feature] + sums[3][feature]);
}

#endif
