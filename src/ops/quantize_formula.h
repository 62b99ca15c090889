/*
 * 8-bit integers, for host and device: symmetric quantization, whose zero is the floats'
 * zero (Jacob et al. 2018, arXiv 1712.05877; Wu et al. 2020, arXiv 2004.09602, section
 * 3). NaN becomes 0.
 */
#ifndef OPS_QUANTIZE_FORMULA_H
#define OPS_QUANTIZE_FORMULA_H

#include <math.h>
#include <stdint.h>

#include "base/hostdev.h"

/* Weights do not use -128, so that the range is symmetric. */
enum { QUANTIZE_MAX_U8 = 255, QUANTIZE_MAX_I8 = 127, QUANTIZE_MIN_I8 = -128 };

/* x / scale, rounded to nearest, ties to even, and clipped to [lo, hi]. */
HOST_DEVICE static inline float quantize_element(float x, float scale, float lo, float hi)
{
    float q = x / scale;

    q = q > lo ? q : lo; /* false for NaN */
    q = q < hi ? q : hi;
    return rintf(x == x ? q : 0);
}

#endif
