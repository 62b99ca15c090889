/*
 * HOST_DEVICE marks a formula that nvcc compiles for the GPU and cc for the CPU.
 *
 * Integers (and so every Philox number and every mask), and single +, -, *, /, and sqrt
 * are equal on both, bit for bit. exp, log, pow, cos, and similar functions may differ in
 * the last bit, and a compiler may fuse a product and a sum (nvcc does). So a learning
 * rate, a drawn lam, or a weight may differ in the last bit between a CPU and a GPU; on
 * one kind of device they are equal in every run. A formula that must give the same bits
 * on both computes its products with mul_rn().
 */
#ifndef BASE_HOSTDEV_H
#define BASE_HOSTDEV_H

#ifdef __CUDACC__
#define HOST_DEVICE __host__ __device__
#else
#define HOST_DEVICE
#endif

/*
 * a * b rounded to nearest, never fused. A GPU has an instruction for that; on the CPU,
 * gcc -std=c11 contracts nothing, and clang nothing across statements.
 */
HOST_DEVICE static inline float mul_rn(float a, float b)
{
#if defined(__CUDA_ARCH__) || defined(__fmul_rn)
    return __fmul_rn(a, b);
#else
    return a * b;
#endif
}

#endif
