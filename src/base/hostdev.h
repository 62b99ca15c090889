/* HOST_DEVICE marks a formula that nvcc compiles for the GPU and cc for the CPU. */
#ifndef BASE_HOSTDEV_H
#define BASE_HOSTDEV_H

#ifdef __CUDACC__
#define HOST_DEVICE __host__ __device__
#else
#define HOST_DEVICE
#endif

#endif
