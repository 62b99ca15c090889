/*
 * Lowers ops into the parts that the CUDA kernels fuse: batch norm into statistics,
 * finalize, and apply, and its gradient into sums and apply (ops/batchnorm_parts.h); max
 * pools store the winners for their gradients (ops/maxpool2d_places.h), and relus at the
 * end of a block their masks (ops/relu_bits.h).
 */
#ifndef CUDA_LOWER_H
#define CUDA_LOWER_H

#include "graph/graph.h"

struct device;

void cuda_lower(struct graph *g, struct device *dev);

#endif
