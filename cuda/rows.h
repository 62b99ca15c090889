/*
 * Kernels over rows of logits: THREADS threads of a block share a row, a warp (32) or all
 * of them (ROWS_BLOCK), and read it N floats at a time.
 *
 *   for (i = row_first<THREADS>(); i < rows; i += row_step<THREADS>()) {
 *       row_each<THREADS, N>(z + i * len, len, [&](int64_t k, float v) { sum += v; });
 *       sum = row_sum<THREADS>(sum, shared);     every thread of the row has it
 *   }
 *
 * With ROWS_BLOCK all threads of a block are in the same row, so barriers are safe there.
 */
#ifndef CUDA_ROWS_H
#define CUDA_ROWS_H

#include "cuda/reduce.h"
#include "cuda/vec.h"

enum { ROWS_BLOCK = 256, ROWS_WARP = 32, ROWS_WARP_MAX = 2048 };

template <int THREADS> __device__ static inline int row_thread(void)
{
    return (int)threadIdx.x % THREADS;
}

template <int THREADS> __device__ static inline int64_t row_first(void)
{
    constexpr int ROWS = ROWS_BLOCK / THREADS;

    return (int64_t)blockIdx.x * ROWS + (int)threadIdx.x / THREADS;
}

template <int THREADS> __device__ static inline int64_t row_step(void)
{
    return (int64_t)gridDim.x * (ROWS_BLOCK / THREADS);
}

/* Calls fn(k, z[k]) for the thread's share of the row; N divides len if it is not 1. */
template <int THREADS, int N, class F>
__device__ static inline void row_each(const float *z, int64_t len, F fn)
{
    for (int64_t k = row_thread<THREADS>() * N; k < len; k += THREADS * N) {
        if (N > 1) {
            vec<float> a = vec_load(z + k);

            for (int i = 0; i < N; i++)
                fn(k + i, a.v[i]);
        } else {
            fn(k, z[k]);
        }
    }
}

/* y[k] = fn(k, z[k]); y may be z. */
template <int THREADS, int N, class F>
__device__ static inline void row_map(const float *z, float *y, int64_t len, F fn)
{
    for (int64_t k = row_thread<THREADS>() * N; k < len; k += THREADS * N) {
        if (N > 1) {
            vec<float> a = vec_load(z + k);

            for (int i = 0; i < N; i++)
                a.v[i] = fn(k + i, a.v[i]);
            vec_store(y + k, a);
        } else {
            y[k] = fn(k, z[k]);
        }
    }
}

template <int THREADS, class T> __device__ static inline T row_sum(T v, T *shared)
{
    if (THREADS == ROWS_WARP)
        return warp_sum(v);
    return block_sum<THREADS>(v, shared);
}

template <int THREADS> __device__ static inline float row_max(float v, float *shared)
{
    if (THREADS == ROWS_WARP)
        return warp_max(v);
    return block_max<THREADS>(v, shared);
}

/* Returns the blocks that fit at once; they loop over the rows. */
static inline unsigned row_blocks(const struct device *dev, int64_t rows, int threads)
{
    int64_t blocks = (rows + ROWS_BLOCK / threads - 1) / (ROWS_BLOCK / threads);
    int64_t limit = (int64_t)dev->what.multiprocessors * 8;

    return (unsigned)(blocks < limit ? blocks : limit);
}

/* Runs one statement with THREADS and N for rows of `len`. */
#define WITH_ROWS(len, THREADS, N, ...)                                                  \
    do {                                                                                 \
        if ((len) > ROWS_WARP_MAX && (len) % 4 == 0) {                                   \
            constexpr int THREADS = ROWS_BLOCK, N = 4;                                   \
            __VA_ARGS__;                                                                 \
        } else if ((len) > ROWS_WARP_MAX) {                                              \
            constexpr int THREADS = ROWS_BLOCK, N = 1;                                   \
            __VA_ARGS__;                                                                 \
        } else if ((len) % 4 == 0) {                                                     \
            constexpr int THREADS = ROWS_WARP, N = 4;                                    \
            __VA_ARGS__;                                                                 \
        } else {                                                                         \
            constexpr int THREADS = ROWS_WARP, N = 1;                                    \
            __VA_ARGS__;                                                                 \
        }                                                                                \
    } while (0)

#endif
