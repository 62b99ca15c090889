/*
 * Formulas of one element, for host and device, for kernels that fuse them.
 */
#ifndef OPS_POINTWISE_H
#define OPS_POINTWISE_H

#include <stdbool.h>

#include "base/hostdev.h"
#include "ops/expr_formula.h"

/* limit 0: none. NaN passes because it fails each comparison. */
HOST_DEVICE static inline float relu_value(float x, float limit)
{
    return expr_value(EXPR_RELU, x, 0, 0, limit);
}

/* From the output. A NaN passes dy on, so that trouble stays visible. */
HOST_DEVICE static inline float relu_slope(float y, float dy, float limit)
{
    return expr_value(EXPR_RELU_GRAD, y, dy, 0, limit);
}

/* True if relu_slope of this output is dy. */
HOST_DEVICE static inline bool relu_passes(float y, float limit)
{
    return relu_slope(y, 1, limit) > 0;
}

/* x in 0..255; scale = 1 / (255 std), shift = -mean / std: see normalize_scale. */
HOST_DEVICE static inline float normalize_value(float x, float scale, float shift)
{
    return x * scale + shift;
}

HOST_DEVICE static inline float normalize_scale(float std)
{
    return 1 / (255 * std);
}

HOST_DEVICE static inline float normalize_shift(float mean, float std)
{
    return -mean / std;
}

#endif
