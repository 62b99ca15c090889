/*
 * An NVIDIA GPU as a device, or the description of one: a described device answers every
 * query of claims and plans, but has no memory and no stream.
 *
 *   find.c      lists GPUs, and why one cannot be used
 *   memory.c    device memory and what is left of it
 *   async.c     lanes, events, pinned memory; every wait of the host is in that file
 *   nccl.c      other GPUs
 *   capture.c   CUDA graphs
 *   error.c     messages
 */
#ifndef CUDA_DEVICE_H
#define CUDA_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "cuda/description.h"
#include "graph/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;
struct cudnn;
struct cublaslt;
struct nvjpeg;
struct nccl;
struct step;

struct device {
    struct description what;
    bool described;                  /* there is no real GPU */
    int index;                       /* device index of the CUDA runtime */
    struct CUstream_st *stream;      /* LANE_RUN */
    struct CUstream_st *copy_stream; /* LANE_COPY */
    struct cudnn *cudnn;       /* opened when a claim first asks; see cuda/cudnn.h */
    struct cublaslt *cublaslt; /* likewise; see cuda/cublaslt.h */
    struct nvjpeg *nvjpeg;     /* opened on request; see cuda/nvjpeg.h */
    struct nccl *nccl;         /* with several GPUs; see cuda/nccl.h */
    struct cuda_options options;
    int world;                  /* GPUs that train together */
    bool eager;                 /* no captures */
    /* capturing: an error ends the capture, not the program */
    bool recording;
    char spoiled[240];          /* the capture's first error; "": none */
    bool times;                 /* options.benchmark when the device was opened */
    const struct step *running; /* for messages: the step being run */
    int number;                 /* index of that step in its program */
    struct cuda_block *block;   /* memory from alloc() */
    size_t bytes, peak;
    size_t free_at_open; /* bytes, after the driver had taken its share */
    bool shared;         /* more was free later: other programs have released memory */
    struct device_waits waits;
    char text[160]; /* "cuda:0 NVIDIA H200" */
};

/*
 * Dies unless `error` (a cudaError_t) is success, with the call, the running step, its
 * layer and shapes, the device and its free memory, and a hint for known causes.
 */
void cuda_check(struct device *dev, int error, const char *call);
#define CUDA_CHECK(dev, call)                                                            \
    do {                                                                                 \
        bool was_ = alloc_forbid(false); /* the runtime allocates here */                \
        int error_ = (int)(call);                                                        \
                                                                                         \
        (void)alloc_forbid(was_);                                                        \
        cuda_check((dev), error_, #call);                                                \
    } while (0)

/* In a capture: records `error` of `call` as its cause of failure and returns true. */
bool cuda_spoils(struct device *dev, const char *call, const char *error);

/* Checks the launch just made. */
void cuda_launched(struct device *dev, const char *kernel);

/*
 * Dies with a library's error: `error` is its name, `detail` the library's last message
 * ("" or NULL if there is none), `hint` may be NULL.
 */
__attribute__((noreturn)) void cuda_fail(struct device *dev, const char *call,
                                         const char *error, const char *detail,
                                         const char *hint);
extern const char cuda_hint_late[], cuda_hint_memory[]; /* also for libraries' errors */
const char *cuda_hint(int error); /* hint for a cudaError_t, or NULL */

/* Returns the blocks of `block` threads for n elements, `each` per thread. */
static inline unsigned cuda_blocks(int64_t n, int block, int each)
{
    int64_t per_block = (int64_t)block * each;

    return (unsigned)((n + per_block - 1) / per_block);
}

#ifdef __cplusplus
}
#endif

#endif
