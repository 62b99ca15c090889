/*
 * Batch norm element by element, for host and device. xhat = (x - mean) * rstd.
 *
 * Forward, n elements a channel:
 *   y = xhat * weight + bias = x * scale + shift
 * Backward through the statistics:
 *   dbias = sum dy,  dweight = sum dy * xhat
 *   dx = weight * rstd * (dy - (dbias + xhat * dweight) / n)
 */
#ifndef OPS_BATCHNORM_FORMULA_H
#define OPS_BATCHNORM_FORMULA_H

#include <math.h>

#include "base/hostdev.h"

HOST_DEVICE static inline float batchnorm_rstd(float var, float eps)
{
    return 1 / sqrtf(var + eps);
}

HOST_DEVICE static inline float batchnorm_scale(float weight, float rstd)
{
    return weight * rstd;
}

HOST_DEVICE static inline float batchnorm_shift(float bias, float mean, float scale)
{
    return bias - mean * scale;
}

HOST_DEVICE static inline float batchnorm_dx(float dy, float xhat, float scale,
                                             float dweight_mean, float dbias_mean)
{
    return scale * (dy - dbias_mean - xhat * dweight_mean);
}

#endif
