/*
 * Bytes to normalised pixels on the device: one launch on dev->stream.
 *
 * x is NHWC bytes with `channels` (1 to 4) of them; y is NHWC with `stored` >= channels,
 * at most 8, the rest of them zeros: engines for the first convolution want 4 or 8. y is
 * fp32, fp16 or bf16 and starts at 16 bytes; x starts at 16 bytes.
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

/* The same for pixels that are numbers already: y = x with zeros behind its channels. */
void cuda_pad_channels(struct device *dev, const void *x, int channels, void *y,
                       enum dtype dtype, int stored, int64_t pixels);

#ifdef __cplusplus
}
#endif

#endif
