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

struct step;
struct device;

/* Adds the sums of `chunks` blocks in the workspace, [chunk][channel][tap], to the step's
 * weight gradient. */
void cuda_depthwise_total(const struct step *s, struct device *dev, int chunks);

#ifdef __cplusplus
}
#endif

#endif
