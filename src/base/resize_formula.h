/*
 * Pillow's resize (python-pillow/Pillow, src/libImaging/Resample.c): the source pixels of
 * an output and their weights, for the loader (image/resize.h, with details) and for the
 * op of a program (ops/resize.h).
 *
 * Along one axis the source interval [begin, end) is mapped to `out` pixels, of which
 * [first, first + n) are computed. With f = (to - from) / out, the center of output o is
 * c = from + (o + 0.5) f; its taps are the pixels from int(c - s + 0.5) to int(c + s +
 * 0.5), exclusive, clipped to [lo, hi), s = support * max(1, f); the weight of pixel i is
 * k((i + 0.5 - c) / max(1, f)), normalized to sum 1 and rounded to RESIZE_BITS bits. An
 * output is clip((sum of weight * pixel + half) >> RESIZE_BITS), the sum modulo 2^32;
 * first along x, whose results are bytes again.
 */
#ifndef BASE_RESIZE_FORMULA_H
#define BASE_RESIZE_FORMULA_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hostdev.h"

enum resize_filter {
    RESIZE_NEAREST,  /* pixel floor(c) */
    RESIZE_BOX,      /* support 0.5 */
    RESIZE_BILINEAR, /* 1 */
    RESIZE_BICUBIC,  /* 2, a = -0.5 */
    RESIZE_LANCZOS   /* 3 */
};

enum { RESIZE_BITS = 22 }; /* fractional bits of a weight */

struct resize_axis {
    double begin, end; /* in pixels of the source */
    int lo, hi;        /* no taps outside */
    int out;           /* size of the result of [begin, end) */
    int first, n;      /* range of requested outputs */
};

HOST_DEVICE static inline double resize_support(int f)
{
    return f == RESIZE_NEAREST ? 0 : f == RESIZE_BOX ? 0.5 : f - 1;
}

/* Pillow's kernels; |t| may be outside the support. */
HOST_DEVICE static inline double resize_kernel(int f, double t)
{
    const double a = -0.5, pi = 3.14159265358979323846;

    if (f == RESIZE_BOX)
        return t > -0.5 && t <= 0.5 ? 1 : 0;
    if (f == RESIZE_LANCZOS) {
        if (t < -3 || t >= 3)
            return 0;
        if (t == 0)
            return 1;
        t *= pi;
        return 3 * sin(t) * sin(t / 3) / (t * t);
    }
    t = fabs(t);
    if (f == RESIZE_BILINEAR)
        return t < 1 ? 1 - t : 0;
    if (t < 1)
        return ((a + 2) * t - (a + 3)) * t * t + 1;
    return t < 2 ? (((t - 5) * t + 8) * t - 4) * a : 0;
}

/* Gets the taps [*lo, *hi) of output o. */
HOST_DEVICE static inline void resize_taps(const struct resize_axis *a, int f, int o,
                                           int *lo, int *hi)
{
    double scale = (a->end - a->begin) / a->out, center = a->begin + (o + 0.5) * scale;
    double support = resize_support(f) * (scale > 1 ? scale : 1);

    if (f == RESIZE_NEAREST) {
        *lo = (int)floor(center);
        *lo = *lo < a->lo ? a->lo : *lo >= a->hi ? a->hi - 1 : *lo;
        *hi = *lo + 1;
        return;
    }
    *lo = (int)(center - support + 0.5);
    *hi = (int)(center + support + 0.5);
    *lo = *lo < a->lo ? a->lo : *lo;
    *hi = *hi > a->hi ? a->hi : *hi;
    if (*hi <= *lo) /* a center on the very edge of a clipped interval */
        *hi = *lo + 1;
}

/* Returns the weight of pixel i for output o before normalization. */
HOST_DEVICE static inline double resize_raw_weight(const struct resize_axis *a, int f,
                                                   int o, int i)
{
    double scale = (a->end - a->begin) / a->out, center = a->begin + (o + 0.5) * scale;

    if (f == RESIZE_NEAREST)
        return 1;
    return resize_kernel(f, (i - center + 0.5) * (1 / (scale > 1 ? scale : 1)));
}

HOST_DEVICE static inline int32_t resize_fixed(double weight)
{
    double v = weight * (1 << RESIZE_BITS);

    return (int32_t)(v < 0 ? v - 0.5 : v + 0.5);
}

HOST_DEVICE static inline uint8_t resize_byte(uint32_t sum)
{
    int32_t v = (int32_t)(sum + (1u << (RESIZE_BITS - 1))) >> RESIZE_BITS;

    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* Gets the source pixels [*lo, *hi) that the requested outputs read. */
HOST_DEVICE static inline void resize_span(const struct resize_axis *a, int f, int *lo,
                                           int *hi)
{
    int unused;

    resize_taps(a, f, a->first, lo, &unused);
    resize_taps(a, f, a->first + a->n - 1, &unused, hi);
}

#endif
