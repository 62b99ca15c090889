/* More dynamic shared memory than a launch may have by itself. */
#ifndef CUDA_SHARED_MEMORY_H
#define CUDA_SHARED_MEMORY_H

#include "cuda/device.h"

/* Static and dynamic shared memory that a block may have without permission, and what kernels
 * declare as static at most; bytes. */
enum { SHARED_DEFAULT = 48 << 10, SHARED_STATIC = 16 << 10 };

/* Permits launches of `kernel` with `bytes` of dynamic shared memory. */
#define ALLOW_SHARED(dev, kernel, bytes)                                                 \
    do {                                                                                 \
        if ((bytes) > SHARED_DEFAULT - SHARED_STATIC)                                    \
            CUDA_CHECK(dev, cudaFuncSetAttribute(                                        \
                                kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,     \
                                (int)(bytes)));                                          \
    } while (0)

#endif
