/*
 * The gradient of window attention on tensor cores for a tile of queries and one of keys
 * (cuda/attention_mma.h): recomputes weights from lse, and computes gradients of scores.
 */
#ifndef CUDA_ATTENTION_MMA_PAIRS_H
#define CUDA_ATTENTION_MMA_PAIRS_H

#include "cuda/attention_mma_load.h"

/* Loads lse or delta of the lane's two queries, times `factor`; `none` for padding. */
__device__ static inline void load_query_values(const attention &k, const unit &u,
                                                const float *x, const token *query,
                                                float factor, float none, float (&dst)[2])
{
    UNROLL_WHOLE
    for (int half = 0; half < 2; half++) {
        int pixel = query[16 * mma_warp() + mma_row(2 * half)].pixel;

        dst[half] = pixel < 0 ? none : factor * x[(u.pixel + pixel) * k.heads + u.head];
    }
}

/* Stores the pairs of the warp's rows, rounded; a barrier must follow. */
template <class S, class T>
__device__ static inline void store_pairs(const mma_pairs<S> &x, T *dst)
{
    UNROLL_WHOLE
    for (int n = 0; n < S::TILE / 8; n++)
        UNROLL_WHOLE
        for (int i = 0; i < 4; i += 2)
            *reinterpret_cast<uint32_t *>(
                dst + (16 * mma_warp() + mma_row(i)) * S::PAIRS + 8 * n + mma_column(0)) =
                mma_pack(T{}, x[n][i], x[n][i + 1]);
}

/*
 * p: the weights of the warp's queries and the first `left` keys; 0 for missing queries
 * or keys. da: the gradient of p. With KEEP, the weights times dropout's masks are stored
 * in t.weights.
 */
template <bool KEEP, class S, class T>
__device__ static inline void pairs_of(const attention &k, const unit &u,
                                       const grad_tiles<S, T> &t, const token *query,
                                       const token *key, int left,
                                       const float (&lse)[2], mma_pairs<S> &p,
                                       mma_pairs<S> &da)
{
    int row = 16 * mma_warp() + mma_row(0);

    dot_rows<S>(p, t.q, t.k, left);
    dot_rows<S>(da, t.dy, t.v, left);
    scores_of<S>(k, u, t.table, query, key, left, p);
    UNROLL_WHOLE
    for (int n = 0; n < S::TILE / 8; n++)
        UNROLL_WHOLE
        for (int i = 0; i < 4; i++)
            p[n][i] = mma_exp2(p[n][i] - lse[i / 2]);
    if (!k.control) {
        if (KEEP)
            store_pairs<S>(p, t.weights);
        return;
    }

    float factor = 1 / (1 - k.rate);

    UNROLL_WHOLE
    for (int n = 0; n < S::TILE / 8; n++)
        UNROLL_WHOLE
        for (int i = 0; i < 4; i += 2) {
            int pos = row + 4 * i, j = 8 * n + mma_column(0);
            float m[] = {dropout_factor<S>(t.keep, pos, j, factor),
                         dropout_factor<S>(t.keep, pos, j + 1, factor)};

            da[n][i] *= m[0];
            da[n][i + 1] *= m[1];
            if (KEEP)
                *reinterpret_cast<uint32_t *>(t.weights + pos * S::PAIRS + j) =
                    mma_pack(T{}, p[n][i] * m[0], p[n][i + 1] * m[1]);
        }
}

/* Adds the lane's part of delta, the mean of da weighted by p, for the lane's two queries. */
template <class S>
__device__ static inline void add_means(const mma_pairs<S> &p, const mma_pairs<S> &da,
                                        float (&mean)[2])
{
    UNROLL_WHOLE
    for (int n = 0; n < S::TILE / 8; n++)
        UNROLL_WHOLE
        for (int i = 0; i < 4; i++)
            mean[i / 2] += p[n][i] * da[n][i];
}

/* Replaces p by the gradient of the scores. */
template <class S>
__device__ static inline void grads_of_scores(const mma_pairs<S> &da,
                                              const float (&mean)[2], mma_pairs<S> &p)
{
    UNROLL_WHOLE
    for (int n = 0; n < S::TILE / 8; n++)
        UNROLL_WHOLE
        for (int i = 0; i < 4; i++)
            p[n][i] *= da[n][i] - mean[i / 2];
}

#endif
