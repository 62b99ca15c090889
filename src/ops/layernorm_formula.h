/*
 * Layer norm element by element, for host and device, over rows of n elements:
 *
 *   xhat = (x - mean) * rstd,  rstd = 1 / sqrt(var + eps),  var = sum (x - mean)^2 / n
 *   y = xhat * weight + bias
 * Backward, with g = dy * weight:
 *   dx = rstd * (g - sum g / n - xhat * (sum g * xhat) / n)
 *   dweight = sum over rows of dy * xhat,  dbias = sum over rows of dy
 */
#ifndef OPS_LAYERNORM_FORMULA_H
#define OPS_LAYERNORM_FORMULA_H

#include <math.h>

#include "base/hostdev.h"

HOST_DEVICE static inline float layernorm_rstd(float var, float eps)
{
    return 1 / sqrtf(var + eps);
}

HOST_DEVICE static inline float layernorm_xhat(float x, float mean, float rstd)
{
    return (x - mean) * rstd;
}

HOST_DEVICE static inline float layernorm_value(float xhat, float weight, float bias)
{
    return fmaf(xhat, weight, bias);
}

/* The means are those of g and of g * xhat over the row. What is contracted is written out:
 * else kernels that a compiler contracts differently would disagree in the last bit. */
HOST_DEVICE static inline float layernorm_dx(float dy, float weight, float xhat,
                                             float rstd, float g_mean, float gx_mean)
{
    return rstd * fmaf(-xhat, gx_mean, fmaf(dy, weight, -g_mean));
}

#endif
