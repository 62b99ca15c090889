/*
 * 16-bit floats as uint16_t: IEEE binary16 (fp16) and bfloat16 (bf16).
 * Conversions round to nearest even; overflow becomes infinity, NaN stays NaN (quiet),
 * subnormals are kept. fp16: largest finite 65504, smallest positive 2^-24.
 */
#ifndef BASE_HALF_H
#define BASE_HALF_H

#include <stdint.h>
#include <string.h>

#include "base/hostdev.h"

HOST_DEVICE static inline uint32_t float_bits(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof(u));
    return u;
}

HOST_DEVICE static inline float float_from_bits(uint32_t u)
{
    float f;

    memcpy(&f, &u, sizeof(f));
    return f;
}

HOST_DEVICE static inline float bf16_to_float(uint16_t h)
{
    return float_from_bits((uint32_t)h << 16);
}

HOST_DEVICE static inline uint16_t bf16_from_float(float f)
{
    uint32_t u = float_bits(f);

    if ((u & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(u >> 16 | 0x40u);
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

HOST_DEVICE static inline float fp16_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exp = h >> 10 & 31u, man = h & 1023u;

    if (exp == 31)
        return float_from_bits(sign | 0x7f800000u | man << 13);
    if (exp)
        return float_from_bits(sign | (exp + 112) << 23 | man << 13);
    /* subnormal: man * 2^-24, exact in float */
    return float_from_bits(sign | float_bits((float)man * 5.9604644775390625e-8f));
}

HOST_DEVICE static inline uint16_t fp16_from_float(float f)
{
    uint32_t u = float_bits(f), sign = u >> 16 & 0x8000u, a = u & 0x7fffffffu;

    if (a > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | (a >> 13 & 0x1ffu));
    if (a >= 0x477ff000u) /* 65520 and above rounds to infinity */
        return (uint16_t)(sign | 0x7c00u);
    if (a < 0x38800000u) { /* below 2^-14: let the float adder round at 2^-24 */
        float r = float_from_bits(a) + 0.5f; /* ulp of [0.5, 1) is 2^-24 */

        return (uint16_t)(sign | (float_bits(r) - 0x3f000000u));
    }
    a += 0xfffu + (a >> 13 & 1u);
    return (uint16_t)(sign | (a - 0x38000000u) >> 13);
}

#endif
