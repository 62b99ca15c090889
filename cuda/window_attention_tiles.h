/*
 * Window attention's tiles in shared memory (cuda/window_attention.h): tokens of a unit
 * and their features, from qkv, dy, or the values of padding.
 *
 *   load_tokens<TILE>(k, u, first, tokens);  then a barrier, as each load needs the tokens
 *   load_features<S>(k, part_of(k, u, qkv, ATTENTION_Q), tokens, first, tile);
 *   normalize_rows<S>(k, tile, norm);             after a barrier: only for cosine attention
 */
#ifndef CUDA_WINDOW_ATTENTION_TILES_H
#define CUDA_WINDOW_ATTENTION_TILES_H

#include "cuda/window_attention.h"

struct alignas(16) token {
    int code; /* query's code - key's code + center: the row of the table */
    int region;
    int pixel; /* in the map; -1: padding, or no such token */
    float inverse_norm; /* factor of scores on tensor cores: 1 / norm of q or k, else 1 */
};

/* Tokens after the last copy it, but have no pixel. */
template <int TILE>
__device__ static inline void load_tokens(const attention &k, const unit &u, int first,
                                          token *dst)
{
    int t = (int)threadIdx.x;
    int i = first + t < k.tokens ? first + t : k.tokens - 1;

    if (t >= TILE)
        return;
    dst[t].pixel = first + t < k.tokens ? window_grid_pixel(&k.grid, u.window, i) : -1;
    dst[t].code = i / k.grid.window_w * (2 * k.grid.window_w - 1) + i % k.grid.window_w;
    dst[t].region = window_grid_region(&k.grid, u.window, i);
    dst[t].inverse_norm = 1;
}

/* Offset of q, k, or v of a pixel of the unit's map in qkv, and of its result in y. */
__device__ static inline int64_t part_at(const attention &k, const unit &u, int pixel,
                                         int part)
{
    return (3 * (u.pixel + pixel) + part) * k.channels + (int64_t)u.head * k.head;
}

__device__ static inline int64_t result_at(const attention &k, const unit &u, int pixel)
{
    return (u.pixel + pixel) * k.channels + (int64_t)u.head * k.head;
}

/* Features of a head: of a pixel at x + pixel * step, of padding in pad (NULL: 0). */
template <class T> struct features {
    const T *x;
    int64_t step;
    const float *pad;
};

template <class T>
__device__ static inline features<T> part_of(const attention &k, const unit &u,
                                             const T *qkv, int part)
{
    int64_t in_pad = (int64_t)part * k.channels + (int64_t)u.head * k.head;

    return {qkv + part_at(k, u, 0, part), 3 * (int64_t)k.channels,
            k.pad ? k.pad + in_pad : nullptr};
}

/* Features from dy. */
template <class T>
__device__ static inline features<T> result_of(const attention &k, const unit &u,
                                               const T *dy)
{
    return {dy + result_at(k, u, 0), k.channels, nullptr};
}

/* to[token][feature]; zeros after the head's features and for tokens after the last. */
template <class S, int N, class T>
__device__ static inline void load_packs(const attention &k, const features<T> &f,
                                         const token *tokens, int first, float *dst)
{
    constexpr int PACKS = S::D / N;

    for (int e = (int)threadIdx.x; e < S::TILE * PACKS; e += TILE_GEMM_THREADS) {
        int row = e / PACKS, d = e % PACKS * N, pixel = tokens[row].pixel;
        pack<T, N> a = {};

        if (pixel >= 0 && d < k.head)
            a = pack_load<N>(f.x + pixel * f.step + d);
        UNROLL_WHOLE
        for (int i = 0; i < N; i++)
            dst[row * S::STRIDE + d + i] =
                pixel < 0 && f.pad && first + row < k.tokens && d < k.head ? f.pad[d + i]
                                                                           : a.get(i);
    }
}

template <class S, class T>
__device__ static inline void load_features(const attention &k, const features<T> &f,
                                            const token *tokens, int first, float *dst)
{
    if (k.vectors)
        load_packs<S, vec<T>::N>(k, f, tokens, first, dst);
    else
        load_packs<S, 1>(k, f, tokens, first, dst);
}

/* Sums over the 16 threads that share a row. */
__device__ static inline float row_of_16_sum(float v)
{
    for (int lanes = TILE_GEMM_SIDE / 2; lanes > 0; lanes /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, lanes);
    return v;
}

/*
 * Divides rows by their norms; norm[a] gets the norms of this thread's rows. All threads
 * must call it; the tile must be complete before, and is complete for all threads after a
 * barrier.
 */
template <class S>
__device__ static inline void normalize_rows(const attention &k, float *tile,
                                             float (&norm)[S::R])
{
    UNROLL_WHOLE
    for (int a = 0; a < S::R; a++) {
        float *x = tile + tile_gemm_row(a) * S::STRIDE, sum = 0;

        for (int d = tile_gemm_x(); d < k.head; d += TILE_GEMM_SIDE)
            sum += x[d] * x[d];
        norm[a] = sqrtf(row_of_16_sum(sum));
        norm[a] = norm[a] < WINDOW_ATTENTION_NORM ? WINDOW_ATTENTION_NORM : norm[a];
        for (int d = tile_gemm_x(); d < k.head; d += TILE_GEMM_SIDE)
            x[d] /= norm[a];
    }
}

#endif
