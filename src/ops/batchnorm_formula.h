/*
 * Batch norm element by element, for host and device. xhat = (x - mean) * rstd.
 *
 * Forward, n elements a channel:
 *   y = xhat * weight + bias = x * scale + shift
 * Backward through the statistics:
 *   dbias = sum dy,  dweight = sum dy * xhat
 *   dx = weight * rstd * (dy - (dbias + xhat * dweight) / n)
 *      = dy * dy_scale + x * x_scale + offset
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

/* A single multiply-add, so that recomputing y gives the same y. */
HOST_DEVICE static inline float batchnorm_value(float x, float scale, float shift)
{
    return fmaf(x, scale, shift);
}

struct batchnorm_dx_terms {
    float dy_scale, x_scale, offset;
};

/* The means are dweight / n and dbias / n. */
HOST_DEVICE static inline struct batchnorm_dx_terms
batchnorm_dx_of(float weight, float rstd, double mean, double dweight_mean,
                double dbias_mean)
{
    double a = (double)weight * (double)rstd, b = -a * (double)rstd * dweight_mean;
    struct batchnorm_dx_terms t;

    t.dy_scale = (float)a;
    t.x_scale = (float)b;
    t.offset = (float)(-a * dbias_mean - b * mean);
    return t;
}

#endif
