/*
 * NCCL between the GPUs of a run: communicators of a device, and a lane of its own.
 *
 *   nccl_start(dev, group, from, to, n, NCCL_FP32, NCCL_AVG)   from a step: all's mean
 *   nccl_join(dev)                                             before somebody reads it
 *   nccl_reduce(...)                                           both
 *
 * A communicator is opened by the first call for its group, which all ranks make: GPUs of
 * one process by ncclCommInitAll, others by an id that the group's first rank tells the
 * rest, a part of a group by ncclCommSplit. What a step asks for goes to that lane, after what LANE_RUN had then; what follows
 * nccl_join in LANE_RUN waits for all that was started. Both are edges of the graph where
 * one captures, which has to be joined.
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
/* The same in place, but rank `root` alone gets it: what others have then is nothing. */
void nccl_start_to(struct device *dev, const struct collective *group, void *x, int64_t n,
                   int type, int op, int root);
/* Rank r has x[begin[r]] to x[begin[r + 1]], floats, and gets those of the others. */
void nccl_start_gather(struct device *dev, const struct collective *group, float *x,
                       const int64_t *begin);
void nccl_join(struct device *dev);
void nccl_reduce(struct device *dev, const struct collective *group, void *x, int64_t n,
                 int type, int op);
int nccl_type(enum dtype d);
void nccl_close(struct device *dev); /* all communicators, and the lane */

/* While the host waits for the device, and with it maybe for other ranks. */
void nccl_host_waits(const struct device *dev, bool on);

/* Opened once; dies if it cannot be, or if it is too old. */
const struct nccl_library *nccl_library(const char *device);
/* Dies of what NCCL says, unless it is success. */
void nccl_check(struct device *dev, int code, const char *call);

#ifdef __cplusplus
}
#endif

#endif
