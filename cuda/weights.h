/* Weights in 16-bit floats: one flat copy of all parameters, made when they change. */
#ifndef CUDA_WEIGHTS_H
#define CUDA_WEIGHTS_H

#include "cuda/device.h"
#include "graph/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The index in step->derived of the flat array of all parameters as `half`, with the same
 * element offsets as the fp32 weights: parameter w starts at
 *
 *   (uint16_t *)s->derived[i] + w->offset / 4
 *
 * which is a multiple of 32 bytes. All regions of a program share one array for a type.
 */
int cuda_half_weights(struct region *r, struct graph *g, struct device *dev,
                      enum dtype half);

/* The same for the optimizer, which writes the array together with the weights. */
int cuda_half_weights_written(struct region *r, struct graph *g, struct device *dev,
                              enum dtype half);

/*
 * The parameter that w is made from: itself, or what a cast that only rounds it reads; or
 * NULL: w is computed in some other way.
 */
struct tensor *cuda_weights_master(struct tensor *w);

#ifdef __cplusplus
}
#endif

#endif
