/*
 * How our kernels are launched, and the CUDA features they may use.
 *
 *   template <class T> __global__ void relu(const T *x, T *y, int64_t n) { ... }
 *   LAUNCH(dev, relu<float>, grid, block, shared_bytes, x, y, n);
 *
 * A launch goes to dev->stream, so it is captured during captures; its errors are checked
 * at once and name the step. Values that change between steps are passed through
 * pointers, never by value.
 *
 * Sources may use __global__, __device__, __shared__, __restrict__, __grid_constant__,
 * threadIdx, blockIdx, blockDim, gridDim, __syncthreads, __syncwarp, __shfl_xor_sync,
 * __shfl_down_sync, __ballot_sync, atomicAdd and atomicOr, __fadd_rn (a sum that is not
 * contracted into an fma), SHARED_BYTES, and the functions of cuda/vec.h. Compilers other
 * than nvcc need a header included before the source (-include) that defines all of these
 * and LAUNCH: tests/emulator runs the kernels on the host.
 */
#ifndef CUDA_LAUNCH_H
#define CUDA_LAUNCH_H

#include "cuda/device.h"

#ifdef __CUDACC__

#include <cuda_runtime.h>

#define LAUNCH(dev, kernel, grid, block, shared, ...)                                    \
    do {                                                                                 \
        bool was_ = alloc_forbid(false); /* the runtime allocates here */                \
                                                                                         \
        kernel<<<(grid), (block), (shared), (dev)->stream>>>(__VA_ARGS__);               \
        (void)alloc_forbid(was_);                                                        \
        cuda_launched((dev), #kernel);                                                   \
    } while (0)

/* Dynamic shared memory, 16-byte aligned: `name` is an array of unsigned char. */
#define SHARED_BYTES(name) extern __shared__ __align__(16) unsigned char name[]

/*
 * Before a loop that indexes a thread's array: unrolls it completely, whatever its size.
 * Otherwise the array would be in memory instead of registers.
 */
#define UNROLL_WHOLE _Pragma("unroll")

/* Before a loop that runs a few times at most: copies of its body would only take room. */
#define ROLLED _Pragma("unroll 1")

#elif !defined(LAUNCH)
#error "nvcc compiles this, or a compiler with CUDA's language in front (-include)"
#endif

#endif
