/*
 * Shared by narrow.c and narrow_grad.c: the multiply, and images with a zero border.
 */
#ifndef CPU_CONV_NARROW_LOOPS_H
#define CPU_CONV_NARROW_LOOPS_H

#include <immintrin.h>
#include <string.h>

#include "cpu/conv/narrow.h"

#define ISA    __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))
#define INLINE ISA static inline __attribute__((always_inline))

enum { LANES = 16 };

/* acc += pairs of w times the pair at p, broadcast. gcc does not fold the broadcast. */
#define DOT_BROADCAST(acc, w, p)                                                         \
    __asm__("vdpbf16ps %2%{1to16%}, %1, %0"                                              \
            : "+v"(acc)                                                                  \
            : "v"(w), "m"(*(const uint32_t *)(p)))

/* Channels as stored in scratch: 3 are padded to 4, to form pairs. */
static inline int padded_channels(int c)
{
    return c == 3 ? 4 : c;
}

/* Number of values in a packing, and of sums of a weight gradient. */
static inline size_t sums_of(const struct conv_shape *s)
{
    return (size_t)9 * (size_t)padded_channels(s->c) * (size_t)padded_channels(s->k);
}

static inline size_t padded_image(const struct conv_shape *s)
{
    return (size_t)(s->h + 2) * (size_t)(s->w + 2) * (size_t)padded_channels(s->c);
}

static inline size_t align64(size_t n)
{
    return (n + 63) / 64 * 64;
}

/* Copies one image with a zero border; pads 3 channels to 4. */
static inline void pad_image(const struct conv_shape *s, const uint16_t *x, uint16_t *dst)
{
    int cp = padded_channels(s->c), w = s->w, row = (w + 2) * cp;

    memset(dst, 0, (size_t)row * sizeof(*dst));
    memset(dst + (ptrdiff_t)(s->h + 1) * row, 0, (size_t)row * sizeof(*dst));
    for (int y = 0; y < s->h; y++) {
        uint16_t *t = dst + (ptrdiff_t)(y + 1) * row;
        const uint16_t *f = x + (ptrdiff_t)y * w * s->c;

        memset(t, 0, (size_t)cp * sizeof(*t));
        memset(t + (ptrdiff_t)(w + 1) * cp, 0, (size_t)cp * sizeof(*t));
        t += cp;
        if (cp == s->c) {
            memcpy(t, f, (size_t)w * (size_t)cp * sizeof(*t));
            continue;
        }
        for (int i = 0; i < w; i++, t += 4, f += 3) {
            t[0] = f[0];
            t[1] = f[1];
            t[2] = f[2];
            t[3] = 0;
        }
    }
}

#endif
