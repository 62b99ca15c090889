/* Taps of an axis (ops/resample_taps.h) in a table on the device. */
#ifndef CUDA_TAPS_H
#define CUDA_TAPS_H

#include "base/hostdev.h"
#include "ops/resample_taps.h"

union tap_word {
    int i;
    float f;
};

/* Words of a table from `begin` on: first[n], count[n], weight[n width]. */
struct tap_axis {
    int begin, n, width;
};

static inline int taps_words(const struct resample_taps &t)
{
    return (int)t.n * (2 + t.width);
}

static inline tap_axis taps_put(tap_word *dst, int begin, const struct resample_taps &t)
{
    int n = (int)t.n;

    for (int i = 0; i < n; i++) {
        dst[begin + i].i = t.first[i];
        dst[begin + n + i].i = t.count[i];
    }
    for (int i = 0; i < n * t.width; i++)
        dst[begin + 2 * n + i].f = t.weight[i];
    return {begin, n, t.width};
}

/* The taps of one position. */
struct taps_at {
    int first, count;
    const tap_word *weight;
};

HOST_DEVICE static inline taps_at taps_of(const tap_word *table, const tap_axis &a, int i)
{
    const tap_word *t = table + a.begin;

    return {t[i].i, t[a.n + i].i, t + 2 * a.n + i * a.width};
}

#endif
