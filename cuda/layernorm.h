/*
 * Shared by layer norm and its gradient (cuda/layernorm.cu, cuda/layernorm_grad.cu). The
 * lanes of a warp that share a row (4 to 32, so that few idle), or a whole block for long
 * rows, hold it in registers, EACH packs of 16 bytes per lane: x is read once, and so is
 * dy. Rows that are not a multiple of 16 bytes, or too long, are read again for each sum.
 */
#ifndef CUDA_LAYERNORM_H
#define CUDA_LAYERNORM_H

#include "cuda/channels.h"
#include "cuda/path_mask.h"
#include "cuda/reduce.h"
#include "cuda/residual.h"
#include "graph/kernel.h"
#include "ops/image.h"
#include "ops/layernorm.h"
#include "ops/layernorm_formula.h"

enum { LAYERNORM_BLOCK = 256, EACH_MAX = 4, LANES_MIN = 4 };

struct layernorm_shape {
    int64_t rows;
    int channels;
    int lanes; /* lanes per row: a power of 2 up to 32, or LAYERNORM_BLOCK */
    int each;  /* packs per lane; 0: rows are read again */
    int blocks;
    float eps;
};

/* limit: maximum number of blocks per multiprocessor */
static inline layernorm_shape layernorm_shape_of(const struct tensor *x,
                                                 const struct node *n,
                                                 const struct device *dev, int limit)
{
    const struct layernorm_attrs *a = (const struct layernorm_attrs *)n->attrs;
    int64_t channels = tensor_channels(x), rows = tensor_len(x) / channels, groups;
    int pack = (int)(16 / dtype_size(x->dtype));
    int64_t packs = (channels + pack - 1) / pack;
    layernorm_shape s = {};

    s.rows = rows;
    s.channels = (int)channels;
    s.eps = a->eps;
    s.lanes = LANES_MIN;
    while (s.lanes < 32 && s.lanes * EACH_MAX < packs)
        s.lanes *= 2;
    if (channels % pack || s.lanes * EACH_MAX < packs)
        s.lanes = LAYERNORM_BLOCK;
    s.each = (int)((packs + s.lanes - 1) / s.lanes);
    if (channels % pack || s.each > EACH_MAX)
        s.each = 0;
    groups = (rows * s.lanes + LAYERNORM_BLOCK - 1) / LAYERNORM_BLOCK;
    limit *= dev->what.multiprocessors;
    s.blocks = (int)(groups < limit ? groups : limit);
    return s;
}

/* Sums over the lanes of a row; all threads of the block must call it. */
template <bool WIDE>
__device__ static inline float lanes_sum(float v, int lanes, float *shared)
{
    if constexpr (WIDE) {
        return block_sum<LAYERNORM_BLOCK>(v, shared);
    } else {
        for (lanes /= 2; lanes > 0; lanes /= 2)
            v += __shfl_xor_sync(0xffffffffu, v, lanes);
        return v;
    }
}

/* A lane's part of a row: N elements each from channel (i * lanes + lane) * N on. */
template <class T, int EACH> struct row_slice {
    static constexpr int N = vec<T>::N;
    vec<T> v[EACH];

    __device__ void load(const T *row, int lane, const layernorm_shape &s)
    {
        for (int i = 0; i < EACH; i++)
            if ((i * s.lanes + lane) * N < s.channels)
                v[i] = vec_load(row + (i * s.lanes + lane) * N);
    }
    /* Calls fn(i, channel) for each existing pack. */
    template <class F>
    __device__ static void each(int lane, const layernorm_shape &s, F fn)
    {
        UNROLL_WHOLE
        for (int i = 0; i < EACH; i++)
            if ((i * s.lanes + lane) * N < s.channels)
                fn(i, (i * s.lanes + lane) * N);
    }
};

template <int N>
__device__ static inline void weights_load(const float *src, int c, float none,
                                           float *dst)
{
    if (src)
        table_load<N>(src + c, dst);
    for (int k = 0; k < N && !src; k++)
        dst[k] = none;
}

/* Runs one statement with EACH and WIDE for the shape; its `each`, not 0, may be less than
 * EACH: a warp's lanes have 3 or 4 packs, unless rows are shorter than 16 of them. */
#define WITH_EACH(s, EACH, WIDE, ...)                                                    \
    do {                                                                                 \
        if ((s).lanes == LAYERNORM_BLOCK) {                                              \
            constexpr bool WIDE = true;                                                  \
            if ((s).each == 1) {                                                         \
                constexpr int EACH = 1;                                                  \
                __VA_ARGS__;                                                             \
            } else if ((s).each == 2) {                                                  \
                constexpr int EACH = 2;                                                  \
                __VA_ARGS__;                                                             \
            } else {                                                                     \
                constexpr int EACH = EACH_MAX;                                           \
                __VA_ARGS__;                                                             \
            }                                                                            \
        } else {                                                                         \
            constexpr bool WIDE = false;                                                 \
            if ((s).each <= 3) {                                                         \
                constexpr int EACH = 3;                                                  \
                __VA_ARGS__;                                                             \
            } else {                                                                     \
                constexpr int EACH = EACH_MAX;                                           \
                __VA_ARGS__;                                                             \
            }                                                                            \
        }                                                                                \
    } while (0)

#endif
