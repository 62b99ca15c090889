/*
 * Values that the gradient of window attention recomputes for each pair of a query and a
 * key: a tile of both is in shared memory, with dy of the queries and the values of the
 * keys.
 */
#ifndef CUDA_WINDOW_ATTENTION_PAIRS_H
#define CUDA_WINDOW_ATTENTION_PAIRS_H

#include "cuda/window_attention_scores.h"

template <class S> struct pair_tiles {
    token *query, *key;
    float *q, *dy, *k, *v; /* FEATURES each */
    float *pairs;          /* SCORES */
    float *table;

    static constexpr int FLOATS = 4 * S::FEATURES + S::SCORES;

    __device__ pair_tiles(unsigned char *bytes, token *queries, token *keys)
        : query(queries), key(keys), q(reinterpret_cast<float *>(bytes)),
          dy(q + S::FEATURES), k(dy + S::FEATURES), v(k + S::FEATURES),
          pairs(v + S::FEATURES), table(pairs + S::SCORES)
    {
    }
};

/*
 * For rows tile_gemm_row(a) and columns tile_gemm_x() + 16 c. s: scale q . k; p: the
 * weight, 0 for missing queries or keys; m: its dropout mask; da: the gradient of p.
 */
template <class S> struct pairs {
    float s[S::R][S::R], p[S::R][S::R], m[S::R][S::R], da[S::R][S::R];
};

/* Returns an element of lse or delta; 0 for padding. */
__device__ static inline float of_query(const attention &k, const unit &u, const float *x,
                                        const token &query)
{
    return query.pixel < 0 ? 0 : x[(u.pixel + query.pixel) * k.heads + u.head];
}

/* Both begin and end with a barrier; norm: of the thread's rows. */
template <class S, class T>
__device__ static inline void load_queries(const attention &k, const unit &u,
                                           const T *qkv, const T *dy, int first,
                                           const pair_tiles<S> &t, float (&norm)[S::R])
{
    __syncthreads();
    load_tokens<S::TILE>(k, u, first, t.query);
    __syncthreads();
    load_features<S>(k, part_of(k, u, qkv, ATTENTION_Q), t.query, first, t.q);
    load_features<S>(k, result_of(k, u, dy), t.query, first, t.dy);
    __syncthreads();
    if (k.logit_scale) {
        normalize_rows<S>(k, t.q, norm);
        __syncthreads();
    }
}

template <class S, class T>
__device__ static inline void load_keys(const attention &k, const unit &u, const T *qkv,
                                        int first, const pair_tiles<S> &t,
                                        float (&norm)[S::R])
{
    __syncthreads();
    load_tokens<S::TILE>(k, u, first, t.key);
    __syncthreads();
    load_features<S>(k, part_of(k, u, qkv, ATTENTION_K), t.key, first, t.k);
    load_features<S>(k, part_of(k, u, qkv, ATTENTION_V), t.key, first, t.v);
    __syncthreads();
    if (k.logit_scale) {
        normalize_rows<S>(k, t.k, norm);
        __syncthreads();
    }
}

/*
 * Computes all pairs of the two tiles. KEYS: rows are keys, else queries; `first`: the
 * first key; lse[]: of the thread's queries, its rows or its columns.
 */
template <bool KEYS, class S>
__device__ static inline void pairs_of(const attention &k, const unit &u, const biases &b,
                                       int first, const pair_tiles<S> &t,
                                       const float (&lse)[S::R], pairs<S> &dst)
{
    int dot = (k.head + 3) / 4 * 4;

    dst = {};
    tile_gemm_dot(dst.s, KEYS ? t.k : t.q, KEYS ? t.q : t.k, S::STRIDE, dot);
    tile_gemm_dot(dst.da, KEYS ? t.v : t.dy, KEYS ? t.dy : t.v, S::STRIDE, dot);
    UNROLL_WHOLE
    for (int i = 0; i < S::R * S::R; i++) {
        int a = i / S::R, c = i % S::R;
        int row = tile_gemm_row(a), column = tile_gemm_x() + TILE_GEMM_SIDE * c;
        const token &query = t.query[KEYS ? column : row];
        int j = KEYS ? row : column;
        bool valid = query.pixel >= 0 && first + j < k.tokens;

        dst.s[a][c] *= u.scale;
        dst.p[a][c] =
            valid ? expf(score(k, b, dst.s[a][c], query, t.key[j]) - lse[KEYS ? c : a])
                  : 0;
        dst.m[a][c] = valid ? mask_of(k, u, query.pixel, first + j) : 0;
        dst.da[a][c] = valid ? dst.da[a][c] * dst.m[a][c] : 0;
    }
}

/* Writes one number of each pair for tile_gemm_mul(); the caller adds barriers. */
template <class S, class F>
__device__ static inline void store_pairs(const pair_tiles<S> &t, F pair_value)
{
    UNROLL_WHOLE
    for (int i = 0; i < S::R * S::R; i++) {
        int a = i / S::R, c = i % S::R;

        t.pairs[tile_gemm_row(a) * S::PAIRS + tile_gemm_x() + TILE_GEMM_SIDE * c] =
            pair_value(a, c);
    }
}

/*
 * Converts the gradient of a row's direction to that of the row; the thread has C
 * neighboring features of it. A norm clamped to its minimum counts as a constant.
 */
template <class S>
__device__ static inline void from_direction(const float *tile, int a, float norm,
                                             float (&d)[S::C])
{
    const float *u = tile + tile_gemm_row(a) * S::STRIDE + tile_gemm_x() * S::C;
    float along = 0;

    UNROLL_WHOLE
    for (int c = 0; c < S::C; c++)
        along += d[c] * u[c];
    along = row_of_16_sum(along);
    if (!(norm > WINDOW_ATTENTION_NORM))
        along = 0;
    UNROLL_WHOLE
    for (int c = 0; c < S::C; c++)
        d[c] = (d[c] - u[c] * along) / norm;
}

#endif
