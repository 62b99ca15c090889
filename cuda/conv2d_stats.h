/* A convolution together with the sums of the batch norm after it. */
#ifndef CUDA_CONV2D_STATS_H
#define CUDA_CONV2D_STATS_H

#include "cuda/device.h"
#include "graph/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct kernel cuda_conv2d_stats;

/* True if cuda_conv2d_stats claims op_batchnorm_stats node n: other kernels leave it. */
bool cuda_conv2d_sums(struct graph *g, struct node *n, struct device *dev);

#ifdef __cplusplus
}
#endif

#endif
