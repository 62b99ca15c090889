/*
 * HOST_DEVICE marks a formula that nvcc compiles for the GPU and cc for the CPU.
 *
 * Equal on both, bit for bit: integers (so every Philox number and every mask), and +, -,
 * *, / and sqrt one by one. Not promised: exp, log, pow, cos and their kin may differ in
 * the last bit, and each compiler may make one fma of a product and a sum (nvcc does). So
 * a learning rate, a drawn lam or a weight may differ in the last bit between a CPU and a
 * GPU; on one kind of device they are the same in every run. A formula that has to give
 * the same bits on both takes its products from mul_rn().
 */
#ifndef BASE_HOSTDEV_H
#define BASE_HOSTDEV_H

#ifdef __CUDACC__
#define HOST_DEVICE __host__ __device__
#else
#define HOST_DEVICE
#endif

/*
 * a * b rounded to nearest, never part of an fma. A GPU has an instruction for that; on the
 * CPU, gcc -std=c11 contracts nothing, and clang nothing beyond one statement.
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
