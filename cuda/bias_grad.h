/* Sums over rows, shared by the kernels that make them along with something else. */
#ifndef CUDA_BIAS_GRAD_H
#define CUDA_BIAS_GRAD_H

#include "cuda/channels.h"
#include "cuda/device.h"

/* Returns the blocks that sum the rows of tile t, each leaving a row of sums. */
int bias_grad_chunks(const struct device *dev, const tile *t);
/* Adds the rows of sums [chunks][channels] in fp64; stores the first `channels_used` in db,
 * in `type`. */
void bias_grad_combine(struct device *dev, const float *sums, void *db, enum dtype type,
                       int channels_used, int channels, int chunks);

#endif
