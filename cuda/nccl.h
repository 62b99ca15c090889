/*
 * NCCL between the GPUs of a run: communicators of a device, and a lane of its own.
 *
 *   nccl_reduce(dev, group, x, n, NCCL_FP32, NCCL_AVG)    from a step, in place
 *
 * A communicator is opened by the first call for its group, which all ranks make: GPUs of
 * one process by ncclCommInitAll, others by an id that the group's first rank tells the
 * rest. What a step asks for goes to dev->comm_stream, after what LANE_RUN had then; what
 * follows in LANE_RUN waits for it. Both are edges of the graph where one captures.
 */
#ifndef CUDA_NCCL_H
#define CUDA_NCCL_H

#include "cuda/device.h"
#include "cuda/nccl_library.h"
#include "graph/collective.h"

#ifdef __cplusplus
extern "C" {
#endif

void nccl_reduce(struct device *dev, const struct collective *group, void *x, int64_t n,
                 int type, int op);
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
