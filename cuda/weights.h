/* 16-bit weights: one flat copy of all parameters, updated when they change. */
#ifndef CUDA_WEIGHTS_H
#define CUDA_WEIGHTS_H

#include "cuda/device.h"
#include "graph/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Returns the index in step->derived of the flat array of all parameters as `half`, with
 * the same element offsets as the fp32 weights: parameter w starts at
 *
 *   (uint16_t *)s->derived[i] + w->offset / 4
 *
 * which is a multiple of 32 bytes. All regions of a program share one array per type.
 */
int cuda_half_weights(struct region *r, struct graph *g, struct device *dev,
                      enum dtype half);

/* The same for the optimizer, which writes the array together with the weights. */
int cuda_half_weights_written(struct region *r, struct graph *g, struct device *dev,
                              enum dtype half);

/*
 * Returns the parameter of w: w itself, or the input of a cast that only rounds it.
 * Returns NULL if w is computed in some other way.
 */
struct tensor *cuda_weights_master(struct tensor *w);

#ifdef __cplusplus
}
#endif

#endif
