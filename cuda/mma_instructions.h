/*
 * The instructions of cuda/mma.h (PTX ISA: ldmatrix, mma.m16n8k16, ex2). For compilers
 * other than nvcc, the header included before the source defines the first two
 * (cuda/launch.h).
 */
#ifndef CUDA_MMA_INSTRUCTIONS_H
#define CUDA_MMA_INSTRUCTIONS_H

#include "cuda/launch.h"
#include "cuda/vec.h"

/* Loads four 8 x 8 matrices: lane 8 i + r passes the address of row r of matrix i, and
 * gets two adjacent elements of row lane / 4 of each, or of column lane / 4. */
#ifdef __CUDACC__

#define LDMATRIX(how, dst, row)                                                          \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" how ".shared.b16 {%0,%1,%2,%3}, [%4];"  \
                 : "=r"((dst)[0]), "=r"((dst)[1]), "=r"((dst)[2]), "=r"((dst)[3])        \
                 : "r"((uint32_t)__cvta_generic_to_shared(row))                          \
                 : "memory")
#define MMA_16X8X16(type, sum, a, b0, b1)                                                \
    asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 "                   \
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                          \
        : "+f"((sum)[0]), "+f"((sum)[1]), "+f"((sum)[2]), "+f"((sum)[3])                 \
        : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "r"(b0), "r"(b1))

__device__ static inline void ldmatrix_rows(uint32_t (&dst)[4], const void *row)
{
    LDMATRIX("", dst, row);
}

__device__ static inline void ldmatrix_columns(uint32_t (&dst)[4], const void *row)
{
    LDMATRIX(".trans", dst, row);
}

__device__ static inline void mma_16x8x16(f16, float (&sum)[4], const uint32_t (&a)[4],
                                          uint32_t b0, uint32_t b1)
{
    MMA_16X8X16("f16", sum, a, b0, b1);
}

__device__ static inline void mma_16x8x16(bf16, float (&sum)[4], const uint32_t (&a)[4],
                                          uint32_t b0, uint32_t b1)
{
    MMA_16X8X16("bf16", sum, a, b0, b1);
}

#endif

/* Packs two elements, the first in the low bits. */
template <class T> __device__ static inline uint32_t mma_pack(T, float low, float high)
{
    return from_float<T>(low).bits | (uint32_t)from_float<T>(high).bits << 16;
}

/* Returns 2^x; results below the smallest normal number are 0. */
__device__ static inline float mma_exp2(float x)
{
#ifdef __CUDA_ARCH__
    asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
#else
    return exp2f(x);
#endif
}

#endif
