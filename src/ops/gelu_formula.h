/*
 * gelu of one element in fp32, with erf, for kernels that fuse it, and the constants of both
 * forms (ops/expr_formula.h):
 *
 *   y = x Phi(x),  Phi(x) = (1 + erf(x / sqrt 2)) / 2,  dy/dx = Phi(x) + x phi(x)
 *
 * Far from zero, Phi(-t) is phi(t) times Mills' ratio, which is a polynomial of
 * 1 / (1 + 0.29 t) with a relative error below 6e-7 for every t up to 8 (least squares,
 * reweighted until the largest error is smallest; scripts/golden/gelu_tail.py). So small
 * values of y keep their digits, which 1 + erf loses.
 */
#ifndef OPS_GELU_FORMULA_H
#define OPS_GELU_FORMULA_H

#include <math.h>

#include "base/hostdev.h"

#define GELU_SQRT_HALF  0.70710678f
#define GELU_PHI_0      0.39894228f /* 1 / sqrt(2 pi) */
#define GELU_TANH_SCALE 1.5957691f  /* 2 sqrt(2 / pi) */
#define GELU_TANH_CUBE  0.044715f

/* Returns exp(-t^2 / 2); 0 instead of the smallest results. */
HOST_DEVICE static inline float gelu_bell(float t)
{
    float e = t * t * -0.72134752f; /* -1 / (2 ln 2) */

#ifdef __CUDA_ARCH__
    asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(e));
    return e;
#else
    return exp2f(e);
#endif
}

/* Returns Phi(-t) for t >= 0 with bell = gelu_bell(t). */
HOST_DEVICE static inline float gelu_tail(float t, float bell)
{
    float d = 1 + 0.29f * t, k, sum;

#ifdef __CUDA_ARCH__
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(k) : "f"(d));
#else
    k = 1 / d;
#endif
    sum = -0.09736852f;
    sum = sum * k + 0.31875527f;
    sum = sum * k - 0.14715828f;
    sum = sum * k + 0.22348294f;
    sum = sum * k + 0.08160722f;
    sum = sum * k + 0.12103060f;
    sum = sum * k - 0.00034952f;
    return sum * bell;
}

HOST_DEVICE static inline float gelu_value(float x)
{
    float t = fabsf(x), half = 0.5f * x, far = 13; /* where the tail is 0 */

    return half + fabsf(half) - fminf(t, far) * gelu_tail(t, gelu_bell(t));
}

HOST_DEVICE static inline float gelu_slope(float x)
{
    float t = fabsf(x), bell = gelu_bell(t);

    return 0.5f + copysignf(0.5f - gelu_tail(t, bell), x) + x * GELU_PHI_0 * bell;
}

#endif
