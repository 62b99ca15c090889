/*
 * Pooling windows on the GPU: the work of a thread, and ops/window.h in 32 bits, because
 * a 64-bit division takes about 70 instructions.
 */
#ifndef CUDA_POOL_H
#define CUDA_POOL_H

#include "cuda/launch.h"

enum { POOL_THREADS = 256 };

/* One pack of channels of one position, in one image's share of the grid. */
struct pixel_index {
    int image, pack, h, w;
    bool valid;
};

/* blocks: per image of h x w positions */
__device__ static inline pixel_index pixel_index_of(unsigned blocks, int packs, int h,
                                                    int w)
{
    unsigned i = blockIdx.x % blocks * POOL_THREADS + threadIdx.x;
    unsigned pos = i / (unsigned)packs;

    return {(int)(blockIdx.x / blocks), (int)(i % (unsigned)packs),
            (int)(pos / (unsigned)w), (int)(pos % (unsigned)w),
            pos < (unsigned)w * (unsigned)h};
}

static inline unsigned spot_blocks(int packs, int h, int w)
{
    return cuda_blocks((int64_t)h * w * packs, POOL_THREADS, 1);
}

/* [first, end) */
struct span {
    int first, end;
};

/* The input positions that window o covers: window_span(). */
__device__ static inline span span_under(int o, int in, int kernel, int stride, int pad)
{
    int first = o * stride - pad, end = first + kernel;

    return {first > 0 ? first : 0, end < in ? end : in};
}

/* The windows that cover input position i: window_cover(). */
__device__ static inline span span_over(int i, int out, int kernel, int stride, int pad)
{
    int low = i + pad - kernel + stride;
    int end = (int)((unsigned)(i + pad) / (unsigned)stride) + 1;

    return {low > 0 ? (int)((unsigned)low / (unsigned)stride) : 0, end < out ? end : out};
}

/* Runs one statement with S the stride if it is 2 (so that divisions are shifts), or 0. */
#define WITH_STRIDE(stride, S, ...)                                                      \
    do {                                                                                 \
        if ((stride) == 2) {                                                             \
            constexpr int S = 2;                                                         \
            __VA_ARGS__;                                                                 \
        } else {                                                                         \
            constexpr int S = 0;                                                         \
            __VA_ARGS__;                                                                 \
        }                                                                                \
    } while (0)

#endif
