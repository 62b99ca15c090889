/*
 * What the gradient of window attention on tensor cores computes of a tile of queries and
 * one of keys (cuda/attention_mma.h): loads, weights again from lse, gradients of scores,
 * sums for queries and for keys, and what padding gets.
 */
#ifndef CUDA_ATTENTION_MMA_PAIRS_H
#define CUDA_ATTENTION_MMA_PAIRS_H

#include "cuda/attention_mma.h"

/* Windows of several tiles: dqkv, delta, pads [units][tiles][2][channels] (or NULL), and
 * sums (cuda/window_attention.h), all of them results. */
void attention_mma_tiles(const struct step *s, struct device *dev, const attention &k,
                         float *delta, float *pads, float *sums);

static inline int64_t attention_mma_count(const attention &k)
{
    constexpr int TILE = attention_mma<32>::TILE;

    static_assert(TILE == attention_mma<64>::TILE);
    return (k.tokens + TILE - 1) / TILE;
}

/* What of q, k, v, dy and pairs a block has in shared memory. */
template <class S, class T> struct grad_tiles {
    T *q, *k, *v, *dy;
    T *weights, *ds; /* [query][key]: with dropout's mask; the gradient of scores */
    uint32_t (*keep)[S::TILE / 32];
    float *table;

    static constexpr int FLOATS =
        (4 * S::FEATURES + 2 * S::SCORES) * (int)sizeof(T) / (int)sizeof(float) +
        S::TILE * S::TILE / 32;

    __device__ grad_tiles(unsigned char *bytes)
        : q(reinterpret_cast<T *>(bytes)), k(q + S::FEATURES), v(k + S::FEATURES),
          dy(v + S::FEATURES), weights(dy + S::FEATURES), ds(weights + S::SCORES),
          keep(reinterpret_cast<uint32_t(*)[S::TILE / 32]>(ds + S::SCORES)),
          table(reinterpret_cast<float *>(keep + S::TILE))
    {
    }
};

/* Two tiles of the same tokens. */
template <class S, class T>
__device__ static inline void load_two(const attention &k, const features<T> &a,
                                       const features<T> &b, const token *tokens,
                                       int first, T *to_a, T *to_b)
{
    tile_part<S, T> part[2];

    load_part<S>(k, a, tokens, first, part[0]);
    load_part<S>(k, b, tokens, first, part[1]);
    store_part<S>(part[0], to_a);
    store_part<S>(part[1], to_b);
}

/* All four of a window of one tile. */
template <class S, class T>
__device__ static inline void load_four(const attention &k, const unit &u, const T *qkv,
                                        const T *dy, const token *query,
                                        const token *key, const grad_tiles<S, T> &t)
{
    tile_part<S, T> part[4];

    load_part<S>(k, part_of(k, u, qkv, ATTENTION_Q), query, 0, part[0]);
    load_part<S>(k, part_of(k, u, qkv, ATTENTION_K), key, 0, part[1]);
    load_part<S>(k, part_of(k, u, qkv, ATTENTION_V), key, 0, part[2]);
    load_part<S>(k, result_of(k, u, dy), query, 0, part[3]);
    store_part<S>(part[0], t.q);
    store_part<S>(part[1], t.k);
    store_part<S>(part[2], t.v);
    store_part<S>(part[3], t.dy);
}

/* lse or delta of the lane's two queries, times `by`; `none` for padding. */
__device__ static inline void of_queries(const attention &k, const unit &u,
                                         const float *x, const token *query, float by,
                                         float none, float (&to)[2])
{
    UNROLL_WHOLE
    for (int half = 0; half < 2; half++) {
        int pixel = query[16 * mma_warp() + mma_row(2 * half)].pixel;

        to[half] =
            pixel < 0 ? none : by * x[(u.pixel + pixel) * k.heads + u.head];
    }
}

/* Pairs of the warp's rows, rounded; a barrier has to follow. */
template <class S, class T>
__device__ static inline void store_pairs(const mma_pairs<S> &x, T *to)
{
    UNROLL_WHOLE
    for (int n = 0; n < S::TILE / 8; n++)
        UNROLL_WHOLE
        for (int i = 0; i < 4; i += 2)
            *reinterpret_cast<uint32_t *>(to + (16 * mma_warp() + mma_row(i)) * S::PAIRS +
                                          8 * n + mma_column(0)) =
                mma_pack(T{}, x[n][i], x[n][i + 1]);
}

/*
 * p: the weights of the warp's queries and the first `left` keys; 0 where there is no such
 * query or key. da: the gradient of p. With dropout's masks the weights go to t.weights,
 * if somebody reads them there (KEEP).
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
            int at = row + 4 * i, j = 8 * n + mma_column(0);
            float m[] = {kept<S>(t.keep, at, j, factor),
                         kept<S>(t.keep, at, j + 1, factor)};

            da[n][i] *= m[0];
            da[n][i + 1] *= m[1];
            if (KEEP)
                *reinterpret_cast<uint32_t *>(t.weights + at * S::PAIRS + j) =
                    mma_pack(T{}, p[n][i] * m[0], p[n][i + 1] * m[1]);
        }
}

/* delta: the mean of da, weighted by p, of the lane's two queries; the lane's part. */
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

/* p becomes the gradient of the scores. */
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

/* Sums over the first n queries for the warp's keys: of pairs in shared memory times rows. */
template <class S, class T>
__device__ static inline void add_keys(const T *pairs, const T *rows, int n,
                                       mma_rows<S> &sum)
{
    mul_rows<S>(
        sum,
        [&](int i) { return mma_a_of_columns(pairs, S::PAIRS, i, 16 * mma_warp()); },
        rows, n);
}

/* The gradient of q, k or v, of the rows of the warp. */
template <class S, class T>
__device__ static inline void store_grads(const attention &k, const unit &u,
                                          const token *tokens, const mma_rows<S> &x,
                                         T *tile, T *dqkv, int part)
{
    store_rows<S>(k, tokens, x, tile,
                  [&](int pixel) { return dqkv + part_at(k, u, pixel, part); });
}

/* What pairs need beside the tiles: norms and masks. All threads; ends with a barrier if
 * there are such. */
template <class S, class T>
__device__ static inline void load_masks(const attention &k, const unit &u,
                                         const grad_tiles<S, T> &t, token *query,
                                         token *key, int first)
{
    if (k.control)
        draw_masks<S::TILE>(k, u, query, first, t.keep);
    if (k.logit_scale) {
        norms_of<S>(t.q, query);
        norms_of<S>(t.k, key);
    }
    if (k.control || k.logit_scale)
        __syncthreads();
}

/*
 * From the gradients of scores' rows to those of q or k, whose directions `tile` has in
 * cosine attention; a norm that was held at its least value is a constant.
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
        float along = 0, by = tokens[row].by;

        UNROLL_WHOLE
        for (int c = 0; c < S::D / 8; c++)
            UNROLL_WHOLE
            for (int i = 2 * half; i < 2 * half + 2; i++)
                along += d[c][i] * to_float(x[8 * c + mma_column(i)]);
        along = mma_row_sum(along);
        if (!(1 / by > WINDOW_ATTENTION_NORM))
            along = 0;
        UNROLL_WHOLE
        for (int c = 0; c < S::D / 8; c++)
            UNROLL_WHOLE
            for (int i = 2 * half; i < 2 * half + 2; i++)
                d[c][i] = (d[c][i] - along * to_float(x[8 * c + mma_column(i)])) * by;
    }
}

/* The sum of d over the tile's padded tokens, a number a feature; all threads. */
template <class S>
__device__ static inline void pad_rows(const attention &k, const token *key, int left,
                                       const mma_rows<S> &d, float *to)
{
    __shared__ float sums[MMA_WARPS][S::D];
    int first = 16 * mma_warp(), feature = (int)threadIdx.x;
    bool padded[2];

    UNROLL_WHOLE
    for (int half = 0; half < 2; half++) {
        int row = first + mma_row(2 * half);

        padded[half] = row < left && key[row].pixel < 0;
    }
    __syncthreads(); /* whoever still reads the sums */
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
        to[feature] = (sums[0][feature] + sums[1][feature]) +
                      (sums[2][feature] + sums[3][feature]);
}

#endif
