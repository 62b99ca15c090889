/*
 * What a convolution takes over from a batch norm of fixed statistics after it, and a
 * bias that no engine takes along.
 */
#ifndef CUDA_FOLD_H
#define CUDA_FOLD_H

#include "cuda/device.h"
#include "graph/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Derived buffers of `type` for region r (indices in step->derived): the weights w, an
 * fp32 parameter O x I x ..., times the scale of the op_batchnorm_fold `fold`, with zeros
 * after I to make `stored` of it; and the bias that is left, [O]: the fold's shift, with
 * the layer's own bias (or NULL) scaled.
 */
int cuda_fold_weights(struct region *r, struct device *dev, struct tensor *w,
                      int64_t stored, const struct node *fold, enum dtype type);
int cuda_fold_bias(struct region *r, struct device *dev, struct tensor *bias,
                   const struct node *fold, enum dtype type);

/* y[i] += bias[i % channels], n elements, in place; bias is fp32. */
void cuda_add_bias(struct device *dev, void *y, enum dtype type, const float *bias,
                   int64_t n, int64_t channels);

#ifdef __cplusplus
}
#endif

#endif
