/*
 * NCCL between the GPUs of a run: the communicators of a device, and two lanes of the
 * highest priority.
 *
 *   nccl_start(dev, group, from, to, n, NCCL_FP32, NCCL_AVG)   from a step: mean over ranks
 *   nccl_join(dev)                                             before the result is read
 *   nccl_reduce(...)                                           both
 *   nccl_start_small, nccl_join_small        the same, while buckets of gradients are sent
 *
 * The first call for a group opens its communicator, and all ranks must make it: GPUs of
 * one process use ncclCommInitAll, others an id that the group's first rank sends to the
 * rest, and parts of a group ncclCommSplit. Operations are queued on their lane after the
 * work that LANE_RUN had at the time; work on LANE_RUN after the join waits for all
 * operations that were started on that lane. In a capture, both become edges of the graph,
 * and the join is required.
 *
 * A lane has communicators of its own, so an exchange of a few numbers does not wait for
 * 25 MiB of gradients. That is safe because all ranks make the same calls in the same order
 * on each lane, and the blocks of one operation on each fit on a GPU at once.
 * Before NCCL 2.18, which can split communicators, both lanes are the first one.
 */
#ifndef CUDA_NCCL_H
#define CUDA_NCCL_H

#include "cuda/device.h"
#include "cuda/nccl_library.h"
#include "graph/collective.h"

#ifdef __cplusplus
extern "C" {
#endif

enum nccl_lane { NCCL_BUCKETS, NCCL_SMALL, NCCL_LANES };

void nccl_start(struct device *dev, const struct collective *group, const void *src,
                void *dst, int64_t n, int type, int op);
/* The same in place, but only rank `root` gets the result; the others' x is undefined. */
void nccl_start_to(struct device *dev, const struct collective *group, void *x, int64_t n,
                   int type, int op, int root);
/* Rank r has floats x[begin[r]] to x[begin[r + 1]], and gets those of the others. */
void nccl_start_gather(struct device *dev, const struct collective *group, float *x,
                       const int64_t *begin);
void nccl_start_small(struct device *dev, const struct collective *group, const void *src,
                      void *dst, int64_t n, int type, int op);
/* collective.exchange, on the lane of small exchanges. */
void nccl_start_exchange(struct device *dev, const struct collective *group,
                         const struct exchange *e, const void *src, void *dst,
                         enum dtype t);
void nccl_join(struct device *dev);
void nccl_join_small(struct device *dev);
void nccl_reduce(struct device *dev, const struct collective *group, void *x, int64_t n,
                 int type, int op);
int nccl_type(enum dtype d);
/* After a capture ended: if it has operations, GPUs of one process wait for each other, so
 * that none replays it while the driver still maps memory for another one's. */
void nccl_captured(struct device *dev);
void nccl_close(struct device *dev); /* closes all communicators and lanes */

/* Marks that the host is waiting for the device, and maybe for other ranks. */
void nccl_host_waits(const struct device *dev, bool waiting);

/* Opens the library once; dies if that fails or the library is too old. */
const struct nccl_library *nccl_library(const char *device);
/* Dies with NCCL's message unless code is success. */
void nccl_check(struct device *dev, int code, const char *call);

#ifdef __cplusplus
}
#endif

#endif
