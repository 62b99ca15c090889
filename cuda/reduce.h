/*
 * Sums over the threads of a block in a fixed order, whatever order they run in.
 *
 *   __shared__ double shared[BLOCK];
 *   v = block_sum<BLOCK>(v, shared);     every thread gets the sum; all must come here
 */
#ifndef CUDA_REDUCE_H
#define CUDA_REDUCE_H

#include "cuda/launch.h"

template <int BLOCK, class V> __device__ static inline V block_sum(V v, V *shared)
{
    int t = (int)threadIdx.x;

    static_assert((BLOCK & (BLOCK - 1)) == 0, "halves to the end");
    __syncthreads(); /* whoever still reads `shared` */
    shared[t] = v;
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half)
            shared[t] = shared[t] + shared[t + half];
    }
    __syncthreads();
    return shared[0];
}

/* The largest; a NaN is passed over, -INFINITY if there is nothing else. */
template <int BLOCK> __device__ static inline float block_max(float v, float *shared)
{
    int t = (int)threadIdx.x;

    __syncthreads();
    shared[t] = v;
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half && shared[t + half] > shared[t])
            shared[t] = shared[t + half];
    }
    __syncthreads();
    return shared[0];
}

#endif
