/* Converts values to another floating-point type, for kernels that need it on the way. */
#ifndef CUDA_CAST_H
#define CUDA_CAST_H

#include "cuda/device.h"
#include "graph/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Converts n elements on dev->stream, rounded to nearest even. Both arrays are aligned to
 * 16 bytes and do not overlap, unless they are the same array and the types have equal
 * size.
 */
void cuda_cast(struct device *dev, void *dst, enum dtype dst_type, const void *src,
               enum dtype src_type, int64_t n);

/* Multiplies n floats by `factor`, in place. */
void cuda_scale(struct device *dev, float *x, int64_t n, float factor);

#ifdef __cplusplus
}
#endif

#endif
