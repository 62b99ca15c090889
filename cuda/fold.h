/*
 * Lets a convolution absorb a batch norm with fixed statistics after it, and adds biases
 * that no engine fuses.
 */
#ifndef CUDA_FOLD_H
#define CUDA_FOLD_H

#include "cuda/device.h"
#include "graph/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Derived buffers of `type` for region r (return indices in step->derived): the weights
 * w, an fp32 parameter O x I x ..., times the scale of the op_batchnorm_fold `fold`,
 * padded with zeros from I to `stored`; and the remaining bias, [O]: the fold's shift
 * plus the scaled bias of the layer (may be NULL).
 */
int cuda_fold_weights(struct region *r, struct device *dev, struct tensor *w,
                      int64_t stored, const struct node *fold, enum dtype type);
int cuda_fold_bias(struct region *r, struct device *dev, struct tensor *bias,
                   const struct node *fold, enum dtype type);

/* y[i] += bias[i % channels] for n elements, in place; bias is fp32. */
void cuda_add_bias(struct device *dev, void *y, enum dtype type, const float *bias,
                   int64_t n, int64_t channels);

#ifdef __cplusplus
}
#endif

#endif
