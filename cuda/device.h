/*
 * An NVIDIA GPU as a device, or the description of one: a described device answers every
 * question that claims and plans ask, and has no memory and no stream.
 *
 *   find.c      which GPUs there are, and why one cannot be used
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
    bool described;                  /* no GPU at hand */
    int index;                       /* of the CUDA runtime's devices */
    struct CUstream_st *stream;      /* LANE_RUN */
    struct CUstream_st *copy_stream; /* LANE_COPY */
    struct cudnn *cudnn;       /* opened when a claim first asks; see cuda/cudnn.h */
    struct cublaslt *cublaslt; /* the same; see cuda/cublaslt.h */
    struct nvjpeg *nvjpeg;     /* opened when a run asks for it; see cuda/nvjpeg.h */
    struct nccl *nccl;         /* of several GPUs; see cuda/nccl.h */
    struct cuda_options options;
    bool grouped;               /* other GPUs train with it */
    bool eager;                 /* no captures */
    bool recording;             /* a capture is on: an error ends it, not the program */
    char spoiled[240];          /* the first error in it; "" */
    bool times;                 /* options.benchmark, as it was when the device opened */
    const struct step *running; /* for messages: the step whose run() is on */
    int number;                 /* of that step in its program */
    struct cuda_block *block;   /* what alloc() gave */
    size_t bytes, peak;
    size_t free_at_open; /* bytes, once the driver had taken its share */
    bool shared;         /* more was free since: others have given memory back */
    struct device_waits waits;
    char text[160]; /* "cuda:0 NVIDIA H200" */
};

/*
 * Dies unless `error` (a cudaError_t) is success, with the call, the step that runs, its
 * layer and shapes, the device and its free memory, and a hint where we know a cure.
 */
void cuda_check(struct device *dev, int error, const char *call);
#define CUDA_CHECK(dev, call)                                                            \
    do {                                                                                 \
        bool was_ = alloc_forbid(false); /* the runtime's own business */                \
        int error_ = (int)(call);                                                        \
                                                                                         \
        (void)alloc_forbid(was_);                                                        \
        cuda_check((dev), error_, #call);                                                \
    } while (0)

/* In a capture: true, and `error` of `call` is kept as what spoiled it. */
bool cuda_spoils(struct device *dev, const char *call, const char *error);

/* The same for the launch just made. */
void cuda_launched(struct device *dev, const char *kernel);

/*
 * The same for a library's error: `error` is its name for it, `detail` the library's own
 * last message ("" or NULL: it has none), `hint` may be NULL.
 */
__attribute__((noreturn)) void cuda_fail(struct device *dev, const char *call,
                                         const char *error, const char *detail,
                                         const char *hint);
extern const char cuda_hint_late[], cuda_hint_memory[]; /* for libraries' errors, too */
const char *cuda_hint(int error); /* what may help against a cudaError_t, or NULL */

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
