/*
 * Window attention on tensor cores (cuda/attention_mma.h): GEMMs of tiles in shared
 * memory, and the scores of a tile of queries and one of keys.
 */
#ifndef CUDA_ATTENTION_MMA_SCORES_H
#define CUDA_ATTENTION_MMA_SCORES_H

#include "cuda/attention_mma_tile.h"

/* ---- GEMMs ---- */

/* Multiplies the warp's rows of x and the first `n` rows of y. */
template <class S, class T>
__device__ static inline void dot_rows(mma_pairs<S> &sum, const T *x, const T *y, int n)
{
    UNROLL_WHOLE
    for (int d = 0; d < S::D; d += 16) {
        mma_a a = mma_a_of(x, S::STRIDE, 16 * mma_warp(), d);

        UNROLL_WHOLE
        for (int j = 0; j < S::TILE; j += 16)
            if (j < n)
                mma<T>(sum[j / 8], sum[j / 8 + 1], a, mma_b_of_rows(y, S::STRIDE, j, d));
    }
}

/* Adds `pairs(j)`, rows of the warp and tokens j to j + 15, times the first n rows of v. */
template <class S, class T, class F>
__device__ static inline void mul_rows(mma_rows<S> &sum, F pairs, const T *v, int n)
{
    UNROLL_WHOLE
    for (int j = 0; j < S::TILE; j += 16) {
        if (j >= n)
            continue;

        mma_a a = pairs(j);

        UNROLL_WHOLE
        for (int d = 0; d < S::D; d += 16)
            mma<T>(sum[d / 8], sum[d / 8 + 1], a, mma_b_of(v, S::STRIDE, j, d));
    }
}

/* ---- scores ---- */

/* Copies a head's column of the table to shared memory; a barrier must follow. */
__device__ static inline void load_table(const attention &k, int head, float *dst)
{
    for (int i = (int)threadIdx.x; k.table && i < k.offsets; i += MMA_THREADS)
        dst[i] = k.table[(int64_t)i * k.heads + head];
}

/*
 * Converts q . k to the scores, in base 2, of the warp's queries and the first `left`
 * keys of the tile; other keys get -infinity. Absent options are tested once per tile,
 * not per element.
 */
template <class S>
__device__ static inline void scores_of(const attention &k, const unit &u,
                                        const float *table, const token *query,
                                        const token *key, int left, mma_pairs<S> &s)
{
    int row = 16 * mma_warp() + mma_row(0);
    float scale = LOG2_E * u.scale;

    UNROLL_WHOLE
    for (int n = 0; n < S::TILE / 8; n++)
        UNROLL_WHOLE
        for (int i = 0; i < 4; i++)
            s[n][i] *= scale;
    if (k.logit_scale) {
        float inverse_norm[] = {query[row].inverse_norm, query[row + 8].inverse_norm};

        UNROLL_WHOLE
        for (int n = 0; n < S::TILE / 8; n++)
            UNROLL_WHOLE
            for (int i = 0; i < 4; i++)
                s[n][i] *= inverse_norm[i / 2] * key[8 * n + mma_column(i)].inverse_norm;
    }
    if (k.table) {
        const float *ptr[] = {table + query[row].code + k.center,
                              table + query[row + 8].code + k.center};

        UNROLL_WHOLE
        for (int n = 0; n < S::TILE / 8; n++)
            UNROLL_WHOLE
            for (int i = 0; i < 4; i++)
                s[n][i] += LOG2_E * ptr[i / 2][-key[8 * n + mma_column(i)].code];
    }
    if (window_grid_divided(&k.grid, u.window)) {
        int region[] = {query[row].region, query[row + 8].region};

        UNROLL_WHOLE
        for (int n = 0; n < S::TILE / 8; n++)
            UNROLL_WHOLE
            for (int i = 0; i < 4; i++)
                if (region[i / 2] != key[8 * n + mma_column(i)].region)
                    s[n][i] += LOG2_E * WINDOW_ATTENTION_MASK;
    }
    if (left < S::TILE) {
        UNROLL_WHOLE
        for (int n = 0; n < S::TILE / 8; n++)
            UNROLL_WHOLE
            for (int i = 0; i < 4; i++)
                s[n][i] = 8 * n + mma_column(i) < left ? s[n][i] : -INFINITY;
    }
}

/* Returns dropout's factor for the weight of a pair of the tiles. */
template <class S>
__device__ static inline float dropout_factor(const uint32_t (*keep)[S::TILE / 32],
                                              int row, int j, float factor)
{
    return keep[row][j / 32] >> (j % 32) & 1 ? factor : 0;
}

#endif
