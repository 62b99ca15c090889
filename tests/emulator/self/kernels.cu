#include "tests/emulator/self/kernels.h"

#include "cuda/launch.h"

enum { BLOCK = 64 };

template <bug B>
__global__ void __launch_bounds__(BLOCK) sum_shared(const float *x, float *y)
{
    SHARED_BYTES(bytes);
    __shared__ float carry;
    float *part = reinterpret_cast<float *>(bytes);
    unsigned t = threadIdx.x;

    if (B != BUG_UNWRITTEN || t != 5)
        part[t] = x[blockIdx.x * BLOCK + t];
    if (B == BUG_PAST_END && t == 7)
        part[BLOCK] = 0;
    if (B == BUG_EARLY_RETURN && t == 3)
        return;
    if (B == BUG_OTHER_BARRIER && t == 9)
        __syncthreads();
    else if (B != BUG_NO_BARRIER && (B != BUG_HALF_BARRIER || t < BLOCK / 2))
        __syncthreads();
    if (t == 0 && (B != BUG_UNWRITTEN_BLOCK || blockIdx.x == 0))
        carry = 0;
    __syncthreads();
    for (unsigned n = BLOCK / 2; n; n /= 2) {
        if (t < n)
            part[t] += part[t + n];
        if (B != BUG_NO_BARRIER)
            __syncthreads();
    }
    if (t)
        return;
    if (B == BUG_RACE)
        y[0] = y[0] * 0.5f + part[0];
    else
        y[blockIdx.x] = part[0] + carry;
}

void test_sum_shared(device *dev, const float *x, float *y, int blocks, bug b)
{
    unsigned n = (unsigned)blocks;
    size_t shared = BLOCK * sizeof(float);

#define CASE(B)                                                                          \
    if (b == B)                                                                          \
    LAUNCH(dev, sum_shared<B>, n, BLOCK, shared, x, y)
    CASE(BUG_NONE);
    CASE(BUG_NO_BARRIER);
    CASE(BUG_HALF_BARRIER);
    CASE(BUG_OTHER_BARRIER);
    CASE(BUG_EARLY_RETURN);
    CASE(BUG_UNWRITTEN);
    CASE(BUG_UNWRITTEN_BLOCK);
    CASE(BUG_PAST_END);
    CASE(BUG_RACE);
#undef CASE
}

/* Small static memory of a device function is also NaN before each block. */
__device__ static float block_sum(float warp_sum)
{
    __shared__ float part[32];

    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = warp_sum;
    __syncthreads();
    return part[0] + part[1];
}

template <bug B> __global__ void sum_warp(const float *x, float *y)
{
    unsigned t = threadIdx.x, mask = t < 32 ? ~0u : 0xffu;
    float v = x[blockIdx.x * 40 + t];

    if (B == BUG_OUTSIDE_MASK && t == 4)
        mask = ~16u;
    if (B != BUG_MISSING_LANE || t != 11)
        for (int n = t < 32 ? 16 : 4; n; n /= 2)
            v += __shfl_xor_sync(mask, v, n);
    v = block_sum(v);
    if (t == 0)
        y[blockIdx.x] = v;
}

void test_sum_warp(device *dev, const float *x, float *y, int blocks, bug b)
{
    unsigned n = (unsigned)blocks;

    if (b == BUG_OUTSIDE_MASK)
        LAUNCH(dev, sum_warp<BUG_OUTSIDE_MASK>, n, 40, 0, x, y);
    else if (b == BUG_MISSING_LANE)
        LAUNCH(dev, sum_warp<BUG_MISSING_LANE>, n, 40, 0, x, y);
    else
        LAUNCH(dev, sum_warp<BUG_NONE>, n, 40, 0, x, y);
}

template <bug B> __global__ void sum_twice(const float *x, float *y)
{
    __shared__ float part[2];
    unsigned t = threadIdx.x;
    float sum[2];

    for (int round = 0; round < 2; round++) {
        float v = x[blockIdx.x * 64 + t] * (float)(2 - round);

        for (int n = 16; n; n /= 2)
            v += __shfl_xor_sync(~0u, v, n);
        if (B != BUG_REUSE && round)
            __syncthreads();
        if (t % 32 == 0)
            part[t / 32] = v;
        __syncthreads();
        sum[round] = part[0] + part[1];
    }
    if (t == 0)
        y[blockIdx.x] = sum[0] - sum[1];
}

void test_sum_twice(device *dev, const float *x, float *y, int blocks, bug b)
{
    if (b == BUG_REUSE)
        LAUNCH(dev, sum_twice<BUG_REUSE>, (unsigned)blocks, 64, 0, x, y);
    else
        LAUNCH(dev, sum_twice<BUG_NONE>, (unsigned)blocks, 64, 0, x, y);
}

__global__ void increment(const float *x, float *y, int n)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    if (i < n)
        y[i] = x[i] + 1;
}

void test_increment(device *dev, const float *x, float *y, int n)
{
    LAUNCH(dev, increment, cuda_blocks(n, 32, 1), 32, 0, x, y, n);
}

__global__ void nothing() {}

void test_launch(device *dev, unsigned grid_y, unsigned block, size_t shared,
                 size_t allow)
{
    if (allow)
        cuda_check(dev,
                   (int)cudaFuncSetAttribute(
                       nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)allow),
                   "cudaFuncSetAttribute");
    LAUNCH(dev, nothing, dim3(1, grid_y), block, shared);
}

__global__ void integers(int *y)
{
    unsigned t = threadIdx.x, lane = t % 32;

    if (t == 0)
        for (int i = 0; i < 64; i++)
            y[i] = 0;
    __syncthreads();
    atomicAdd(&y[0], (int)t);
    atomicMax(&y[1], (int)t);
    atomicOr(&y[2], (int)(t & 3) << 4);
    if (atomicCAS(&y[3], 0, (int)t + 1) == 0)
        y[4] = y[3];
    __syncthreads();
    unsigned odd = __ballot_sync(~0u, lane & 1);
    int up = __shfl_up_sync(~0u, (int)lane, 3),
        down = __shfl_down_sync(~0u, (int)lane, 3);
    int part = __shfl_sync(~0u, (int)lane, 2, 8), any = __any_sync(~0u, lane == 7);
    int all = __all_sync(~0u, lane < 32) + __all_sync(~0u, lane < 31);
    int big = __syncthreads_count(t > 40), none = __syncthreads_or(t > 64);

    __syncwarp();
    if (t == 40) { /* lane 8 */
        y[10] = (int)odd, y[11] = up, y[12] = down, y[13] = part, y[14] = any;
        y[15] = all, y[16] = big, y[17] = none;
    }
    if (t == 33)
        y[18] = up;
    if (t == 63)
        y[19] = down;
    if (t >= 32 && lane < 5) /* a part of a warp exchanges values */
        y[20 + lane] = __shfl_sync(0x1f, (int)t, 4 - (int)lane);
}

void test_integers(device *dev, int *y)
{
    LAUNCH(dev, integers, 1, 64, 0, y);
}
