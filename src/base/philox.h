/*
 * Philox4x32-10, the counter-based generator of Salmon et al., "Parallel random numbers:
 * as easy as 1, 2, 3" (SC 2011). Every random number of the project is a pure function
 *
 *   philox(seed, stream, step, element)
 *
 * of 64-bit seed and 32-bit stream (the key) and of step and element (the counter), so
 * results do not depend on threads, workers, ranks, or the order of calls. Each purpose
 * is a stream, listed below.
 */
#ifndef BASE_PHILOX_H
#define BASE_PHILOX_H

#include <math.h>
#include <stdint.h>

#include "base/hostdev.h"

enum philox_stream {
    PHILOX_SHUFFLE = 1, /* step = epoch, element = half of a position, and the round */
    PHILOX_AUGMENT = 2, /* step = epoch, element = sample, purpose and draw */
    PHILOX_MIXUP = 3,   /* step = batch since the start, element = its sample, and draw */
    PHILOX_INIT = 4,    /* step = hash of the parameter's name, element = index / 2 */
    PHILOX_DROPOUT = 5, /* step = batch since the start; ops/dropout_formula.h */
    PHILOX_DROP_PATH = 6,
    PHILOX_SYNTH = 7, /* generated data */
    PHILOX_TEST = 8
};

struct philox {
    uint32_t v[4];
};

HOST_DEVICE static inline struct philox philox(uint64_t seed, uint32_t stream,
                                               uint64_t step, uint64_t element)
{
    /* 64 bits of element, 64 bits of step mixed with the stream, 64 bits of key. */
    uint64_t high = step ^ ((uint64_t)stream << 56);
    uint32_t c0 = (uint32_t)element, c1 = (uint32_t)(element >> 32);
    uint32_t c2 = (uint32_t)high, c3 = (uint32_t)(high >> 32);
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);

    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        uint32_t n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;

        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }

    struct philox r = {{c0, c1, c2, c3}};
    return r;
}

/* Uniform in [0, 1) with 24 bits, exactly representable. */
HOST_DEVICE static inline float philox_uniform(uint32_t bits)
{
    return (float)(bits >> 8) * (1.0f / 16777216.0f);
}

/* Uniform integer in [0, n) with negligible modulo bias (n < 2^32). */
HOST_DEVICE static inline uint32_t philox_below(uint32_t bits, uint32_t n)
{
    return (uint32_t)(((uint64_t)bits * n) >> 32);
}

/* Standard normal by Box and Muller, from two words. */
HOST_DEVICE static inline float philox_normal(uint32_t a, uint32_t b)
{
    double u = ((double)a + 1.0) / 4294967296.0, t = (double)b / 4294967296.0;

    return (float)(sqrt(-2.0 * log(u)) * cos(6.283185307179586 * t));
}

#endif
