/*
 * Window attention on tensor cores (cuda/attention_mma.h): tiles in shared memory, loaded
 * from and stored to the features of tokens.
 *
 *   load_part<S>(k, features, tokens, part);                 only loads, for each tile
 *   store_part<S>(k, features, tokens, first, part, tile);   then stores; then a barrier
 *   norms_of, directions                              cosine attention
 *   store_rows<S>(k, tokens, x, tile, at);            a warp's rows to memory
 */
#ifndef CUDA_ATTENTION_MMA_TILE_H
#define CUDA_ATTENTION_MMA_TILE_H

#include "cuda/attention_mma.h"

/* A thread's part of a tile: whole vectors of some rows. */
template <class S, class T> struct tile_part {
    static constexpr int N = vec<T>::N, PACKS = S::D / N;
    static constexpr int COUNT = S::TILE * PACKS / MMA_THREADS;
    words<T, N> v[COUNT];
};

/* [token][feature]; zeros after the head's features, for padding, and for tokens after the
 * last. The loads of several tiles are issued before the first is stored. */
template <class S, class T>
__device__ static inline void load_part(const attention &k, const features<T> &f,
                                        const token *tokens, tile_part<S, T> &dst)
{
    using P = tile_part<S, T>;

    UNROLL_WHOLE
    for (int c = 0; c < P::COUNT; c++) {
        int e = (int)threadIdx.x + c * MMA_THREADS, d = e % P::PACKS * P::N;
        int pixel = tokens[e / P::PACKS].pixel;

        dst.v[c] = {};
        if (pixel >= 0 && d < k.head)
            dst.v[c] = words_load<P::N>(f.x + pixel * f.step + d);
    }
}

/* Stores a part, and the features of padded tokens, which load_part leaves zero. */
template <class S, class T>
__device__ static inline void store_part(const attention &k, const features<T> &f,
                                         const token *tokens, int first,
                                         const tile_part<S, T> &part, T *dst)
{
    using P = tile_part<S, T>;

    UNROLL_WHOLE
    for (int c = 0; c < P::COUNT; c++) {
        int e = (int)threadIdx.x + c * MMA_THREADS;

        words_store(dst + e / P::PACKS * S::STRIDE + e % P::PACKS * P::N, part.v[c]);
    }
    if (!f.pad)
        return;
    for (int e = (int)threadIdx.x; e < S::TILE * P::PACKS; e += MMA_THREADS) {
        int row = e / P::PACKS, d = e % P::PACKS * P::N;

        if (tokens[row].pixel < 0 && first + row < k.tokens && d < k.head)
            for (int i = 0; i < P::N; i++)
                dst[row * S::STRIDE + d + i] = from_float<T>(f.pad[d + i]);
    }
}

/* Cosine attention: computes the norms of the tokens' rows. A barrier must follow. */
template <class S, class T>
__device__ static inline void norms_of(const T *tile, token *tokens)
{
    int row = (int)threadIdx.x / 2, part = (int)threadIdx.x % 2;
    float sum = 0, norm;

    for (int d = part; d < S::D; d += 2) {
        float x = to_float(tile[row * S::STRIDE + d]);

        sum += x * x;
    }
    norm = sqrtf(sum + __shfl_xor_sync(0xffffffffu, sum, 1));
    if (part == 0)
        tokens[row].inverse_norm =
            1 / (norm < WINDOW_ATTENTION_NORM ? WINDOW_ATTENTION_NORM : norm);
}

/* Divides the rows by their norms; a barrier must follow. */
template <class S, class T>
__device__ static inline void directions(T *tile, const token *tokens)
{
    int row = (int)threadIdx.x / 2, part = (int)threadIdx.x % 2;

    for (int d = part; d < S::D; d += 2) {
        T *x = tile + row * S::STRIDE + d;

        *x = from_float<T>(to_float(*x) * tokens[row].inverse_norm);
    }
}

/* Draws dropout's masks for a tile of pairs: bit j % 32 of keep[row][j / 32]. A barrier
 * must follow. */
template <int TILE>
__device__ static inline void draw_masks(const attention &k, const unit &u,
                                         const token *query, int first,
                                         uint32_t (*keep)[TILE / 32])
{
    int row = (int)threadIdx.x / 2, part = (int)threadIdx.x % 2;
    uint32_t bits = 0;

    for (int j = 0; j < 32; j += 4) {
        struct philox r = masks_of(k, u, query[row].pixel, first + 32 * part + j);

        for (int e = 0; e < 4; e++)
            bits |= (uint32_t)(mask_in(r, e, k.rate) != 0) << (j + e);
    }
    keep[row][part] = bits;
}

/* Stores the warp's rows, through its rows of `tile`, at at(pixel). */
template <class S, class T, class F>
__device__ static inline void store_rows(const attention &k, const token *tokens,
                                         const mma_rows<S> &x, T *tile, F address)
{
    constexpr int N = vec<T>::N, PACKS = S::D / N;
    int first = 16 * mma_warp();

    __syncwarp();
    UNROLL_WHOLE
    for (int c = 0; c < S::D / 8; c++)
        UNROLL_WHOLE
        for (int i = 0; i < 4; i += 2)
            *reinterpret_cast<uint32_t *>(tile + (first + mma_row(i)) * S::STRIDE +
                                          8 * c + mma_column(0)) =
                mma_pack(T{}, x[c][i], x[c][i + 1]);
    __syncwarp();
    UNROLL_WHOLE
    for (int e = mma_lane(); e < 16 * PACKS; e += 32) {
        int row = first + e / PACKS, d = e % PACKS * N, pixel = tokens[row].pixel;

        if (pixel >= 0 && d < k.head)
            vec_store(address(pixel) + d, vec_load(tile + row * S::STRIDE + d));
    }
}

#endif
