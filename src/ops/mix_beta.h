/*
 * lam ~ Beta(a, a) = G / (G + G') of mixup and CutMix, from two Gamma(a) variates, for
 * host and device.
 *
 * Gamma by Marsaglia and Tsang, "A simple method for generating gamma variables" (ACM
 * TOMS 2000), for a + 1; times U^(1/a) gives a. Kept as logarithms, since U^(1/a)
 * underflows for small a. A try succeeds with more than 95 %; after MIX_TRIES the last
 * candidate is taken.
 */
#ifndef OPS_MIX_BETA_H
#define OPS_MIX_BETA_H

#include <math.h>

#include "base/philox.h"

enum { MIX_TRIES = 16, MIX_FIRST_BETA = 2 };

/* Draw d of sample i: ops/mix_formula.h lists them. */
HOST_DEVICE static inline struct philox mix_word(uint64_t seed, uint64_t run, int64_t i,
                                                 int d)
{
    return philox(seed, PHILOX_MIXUP, run, (uint64_t)i + ((uint64_t)d << 32));
}

/* Uniform in (0, 1), as double. */
HOST_DEVICE static inline double mix_uniform(uint32_t word)
{
    return ((double)word + 0.5) / 4294967296.0;
}

/* log of a Gamma(a) variate; `index` is 0 or 1 */
HOST_DEVICE static inline double mix_log_gamma(uint64_t seed, uint64_t run, int64_t i,
                                               double a, int index)
{
    double d = a + 1 - 1.0 / 3, c = 1 / sqrt(9 * d), v = 1;
    int first = MIX_FIRST_BETA + index * (MIX_TRIES + 1);
    double boost = mix_uniform(mix_word(seed, run, i, first).v[0]);

    for (int t = 0; t < MIX_TRIES; t++) {
        struct philox r = mix_word(seed, run, i, first + 1 + t);
        double x = (double)philox_normal(r.v[0], r.v[1]);

        v = 1 + c * x;
        if (!(v > 0)) {
            v = 1;
            continue;
        }
        v = v * v * v;
        if (log(mix_uniform(r.v[2])) < 0.5 * x * x + d - d * v + d * log(v))
            break;
    }
    return log(d * v) + log(boost) / a;
}

HOST_DEVICE static inline double mix_beta(uint64_t seed, uint64_t run, int64_t i,
                                          double a)
{
    double g = mix_log_gamma(seed, run, i, a, 0), h = mix_log_gamma(seed, run, i, a, 1);

    return 1 / (1 + exp(h - g));
}

#endif
