/*
 * Bytes to normalised pixels on the device: one launch on dev->stream.
 *
 * x is NHWC bytes with `channels` (1 to 4) of them; y is NHWC with `stored` channels: as
 * many, or 8 in halves, zeros behind. Both start at 16 bytes.
 */
#ifndef CUDA_NORMALIZE_H
#define CUDA_NORMALIZE_H

#include "cuda/device.h"
#include "graph/tensor.h"
#include "ops/normalize.h"

#ifdef __cplusplus
extern "C" {
#endif

void cuda_normalize(struct device *dev, const struct normalize_attrs *a, const void *x,
                    int channels, void *y, enum dtype dtype, int stored, int64_t pixels);

#ifdef __cplusplus
}
#endif

#endif
