/*
 * gelu of one element in fp32, with erf, for kernels that fuse it, and the constants of both
 * forms (ops/expr_formula.h):
 *
 *   y = x Phi(x),  Phi(x) = (1 + erf(x / sqrt 2)) / 2,  dy/dx = Phi(x) + x phi(x)
 *
 * 1 + erf loses the digits of small values: far below zero, errors are 1e-7 absolute
 * instead of relative. The loops of the CPU do not have this loss (cpu/simd/gelu.inc).
 */
#ifndef OPS_GELU_FORMULA_H
#define OPS_GELU_FORMULA_H

#include <math.h>

#include "base/hostdev.h"

#define GELU_SQRT_HALF  0.70710678f
#define GELU_PHI_0      0.39894228f /* 1 / sqrt(2 pi) */
#define GELU_TANH_SCALE 1.5957691f  /* 2 sqrt(2 / pi) */
#define GELU_TANH_CUBE  0.044715f

HOST_DEVICE static inline float gelu_value(float x)
{
    return 0.5f * x * (1 + erff(x * GELU_SQRT_HALF));
}

HOST_DEVICE static inline float gelu_slope(float x)
{
    return 0.5f * (1 + erff(x * GELU_SQRT_HALF)) + x * GELU_PHI_0 * expf(-0.5f * x * x);
}

#endif
