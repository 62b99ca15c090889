/*
 * Formulas of one element, for host and device.
 */
#ifndef OPS_POINTWISE_H
#define OPS_POINTWISE_H

#include <math.h>

#include "base/hostdev.h"

/* limit 0: none. NaN passes because it fails each comparison. */
HOST_DEVICE static inline float relu_value(float x, float limit)
{
    return x < 0 ? 0 : limit > 0 && x > limit ? limit : x;
}

/* From the output. A NaN passes dy on, so that trouble stays visible. */
HOST_DEVICE static inline float relu_slope(float y, float dy, float limit)
{
    return y <= 0 || (limit > 0 && y >= limit) ? 0 : dy;
}

HOST_DEVICE static inline float sigmoid_value(float x)
{
    return 1 / (1 + expf(-x));
}

HOST_DEVICE static inline float sigmoid_slope(float y, float dy)
{
    return dy * y * (1 - y);
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
