/*
 * The functions we use of NCCL 2 (2.10 or later, for the mean), as declared in nccl.h:
 * that header is not part of the CUDA toolkit, so the few types are repeated here.
 * NVIDIA's "NCCL API" documents the calls.
 */
#ifndef CUDA_NCCL_LIBRARY_H
#define CUDA_NCCL_LIBRARY_H

#include <cuda_runtime_api.h>
#include <stddef.h>

struct nccl_id { /* ncclUniqueId */
    char internal[128];
};

enum { NCCL_SUM = 0, NCCL_MAX = 2, NCCL_AVG = 4 };
enum {
    NCCL_UINT8 = 1,
    NCCL_INT64 = 4,
    NCCL_FP16 = 6,
    NCCL_FP32 = 7,
    NCCL_FP64 = 8,
    NCCL_BF16 = 9
};
enum { NCCL_INVALID_USAGE = 5, NCCL_IN_PROGRESS = 7 };
enum { NCCL_OLDEST = 21000 };

struct nccl_library {
    int (*GetUniqueId)(struct nccl_id *id);
    int (*CommInitRank)(void **comm, int world, struct nccl_id id, int rank);
    int (*CommInitAll)(void **comm, int n, const int *device);
    int (*CommSplit)(void *comm, int color, int key, void **dst,
                     const void *config); /* NULL before NCCL 2.18 */
    int (*CommDestroy)(void *comm);
    int (*AllReduce)(const void *src, void *dst, size_t n, int type, int op, void *comm,
                     cudaStream_t stream);
    int (*Reduce)(const void *src, void *dst, size_t n, int type, int op, int root,
                  void *comm, cudaStream_t stream);
    int (*Broadcast)(const void *src, void *dst, size_t n, int type, int root, void *comm,
                     cudaStream_t stream);
    int (*Send)(const void *src, size_t n, int type, int peer, void *comm,
                cudaStream_t stream);
    int (*Recv)(void *dst, size_t n, int type, int peer, void *comm, cudaStream_t stream);
    int (*GroupStart)(void); /* Send and Recv up to GroupEnd are one operation */
    int (*GroupEnd)(void);
    int (*CommGetAsyncError)(void *comm, int *code); /* from any thread */
    const char *(*GetErrorString)(int code);
    const char *(*GetLastError)(void *comm); /* NULL before NCCL 2.13 */
};

#endif
