/*
 * An NVIDIA GPU as a device, or the description of one: a described device answers every
 * question that claims and plans ask, and has no memory and no stream.
 */
#ifndef CUDA_DEVICE_H
#define CUDA_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/description.h"

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;
struct cudnn;
struct cublaslt;
struct step;

struct device {
    struct description what;
    bool described; /* no GPU behind it */
    int index;      /* of the CUDA runtime's devices */
    struct CUstream_st *stream;
    struct cudnn *cudnn;       /* opened when a claim first asks; see cuda/cudnn.h */
    struct cublaslt *cublaslt; /* the same; see cuda/cublaslt.h */
    struct cuda_options options;
    const struct step *running; /* for messages: the step whose run() is on */
    struct cuda_block *block;   /* what alloc() gave */
    size_t bytes, peak;
    char text[160];
};

/*
 * Dies unless `error` (a cudaError_t) is success, with the call, the step that runs, its
 * layer and shapes, the device and its free memory, and a hint where we know a cure.
 */
void cuda_check(struct device *dev, int error, const char *call);

/* The same for the launch just made. */
void cuda_launched(struct device *dev, const char *kernel);

/* Blocks of `block` threads for n elements of which each thread takes `each`. */
static inline unsigned cuda_blocks(int64_t n, int block, int each)
{
    int64_t per = (int64_t)block * each;

    return (unsigned)((n + per - 1) / per);
}

#ifdef __cplusplus
}
#endif

#endif
