/* Depthwise convolutions: which of them our own kernels take. */
#ifndef CUDA_DEPTHWISE_H
#define CUDA_DEPTHWISE_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* True if n is a convolution, or a gradient of one, whose groups have one channel each and
 * which our own kernels take with any stride, dilation, and padding. */
bool cuda_is_depthwise(const struct node *n);

#ifdef __cplusplus
}
#endif

#endif
