/*
 * Sums over the threads of a block, in a fixed order whatever order they run in: within
 * warps by shuffles, then over the warps.
 *
 *   __shared__ double shared[BLOCK / 32];
 *   v = block_sum<BLOCK>(v, shared);     every thread gets the sum; all must call it
 */
#ifndef CUDA_REDUCE_H
#define CUDA_REDUCE_H

#include "cuda/launch.h"

template <class V> __device__ static inline V warp_sum(V v)
{
    for (int lanes = 16; lanes > 0; lanes /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, lanes);
    return v;
}

/* Returns the maximum, ignoring NaN; -INFINITY if there is no other value. */
__device__ static inline float warp_max(float v)
{
    v = v > -INFINITY ? v : -INFINITY;
    for (int lanes = 16; lanes > 0; lanes /= 2)
        v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, lanes));
    return v;
}

template <int BLOCK, class V> __device__ static inline V block_sum(V v, V *shared)
{
    int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;

    static_assert(BLOCK % 32 == 0 && BLOCK <= 1024, "whole warps, which one warp adds");
    v = warp_sum(v);
    __syncthreads(); /* wait until `shared` has been read */
    if (lane == 0)
        shared[warp] = v;
    __syncthreads();
    return warp_sum(lane < BLOCK / 32 ? shared[lane] : (V)0);
}

template <int BLOCK> __device__ static inline float block_max(float v, float *shared)
{
    int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;

    static_assert(BLOCK % 32 == 0 && BLOCK <= 1024, "whole warps, which one warp takes");
    v = warp_max(v);
    __syncthreads();
    if (lane == 0)
        shared[warp] = v;
    __syncthreads();
    return warp_max(lane < BLOCK / 32 ? shared[lane] : -INFINITY);
}

#endif
