/*
 * NCCL between the GPUs of a run: the communicators of a device, and a separate lane.
 *
 *   nccl_start(dev, group, from, to, n, NCCL_FP32, NCCL_AVG)   from a step: mean over ranks
 *   nccl_join(dev)                                             before the result is read
 *   nccl_reduce(...)                                           both
 *
 * The first call for a group opens its communicator, and all ranks must make it: GPUs of
 * one process use ncclCommInitAll, others an id that the group's first rank sends to the
 * rest, and parts of a group ncclCommSplit. Operations are queued on that lane after the
 * work that LANE_RUN had at the time; work on LANE_RUN after nccl_join waits for all
 * started operations. In a capture, both become edges of the graph, and nccl_join is
 * required.
 */
#ifndef CUDA_NCCL_H
#define CUDA_NCCL_H

#include "cuda/device.h"
#include "cuda/nccl_library.h"
#include "graph/collective.h"

#ifdef __cplusplus
extern "C" {
#endif

void nccl_start(struct device *dev, const struct collective *group, const void *from,
                void *to, int64_t n, int type, int op);
/* The same in place, but only rank `root` gets the result; the others' x is undefined. */
void nccl_start_to(struct device *dev, const struct collective *group, void *x, int64_t n,
                   int type, int op, int root);
/* Rank r has floats x[begin[r]] to x[begin[r + 1]], and gets those of the others. */
void nccl_start_gather(struct device *dev, const struct collective *group, float *x,
                       const int64_t *begin);
void nccl_join(struct device *dev);
void nccl_reduce(struct device *dev, const struct collective *group, void *x, int64_t n,
                 int type, int op);
int nccl_type(enum dtype d);
void nccl_close(struct device *dev); /* closes all communicators and the lane */

/* Marks that the host is waiting for the device, and maybe for other ranks. */
void nccl_host_waits(const struct device *dev, bool on);

/* Opens the library once; dies if that fails or the library is too old. */
const struct nccl_library *nccl_library(const char *device);
/* Dies with NCCL's message unless code is success. */
void nccl_check(struct device *dev, int code, const char *call);

#ifdef __cplusplus
}
#endif

#endif
