/*
 * HOST_DEVICE marks a formula that nvcc compiles for the GPU and cc for the CPU.
 *
 * Equal on both, bit for bit: integers (so every Philox number and every mask), and +, -,
 * *, / and sqrt one by one. Not promised: exp, log, pow, cos and their kin may differ in
 * the last bit, and each compiler may make one fma of a product and a sum. So a learning
 * rate, a drawn lam or a weight may differ in the last bit between a CPU and a GPU; on
 * one kind of device they are the same in every run.
 */
#ifndef BASE_HOSTDEV_H
#define BASE_HOSTDEV_H

#ifdef __CUDACC__
#define HOST_DEVICE __host__ __device__
#else
#define HOST_DEVICE
#endif

#endif
