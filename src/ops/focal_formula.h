/*
 * One class of one row of the focal loss (ops/focal.h): its value for a target of 1 by the
 * log of its probability, and the derivative by that. Compiled for host and device.
 */
#ifndef OPS_FOCAL_FORMULA_H
#define OPS_FOCAL_FORMULA_H

#include <math.h>
#include <stdint.h>

#include "base/hostdev.h"

/* Target values of a row. */
struct focal_targets {
    /* Target added for a label, and for every class: 1 - e, e / K. */
    float on_value, off_value;
    float lam; /* weight of `label`; `partner` has the rest */
    int label, partner;
};

HOST_DEVICE static inline float focal_target(const struct focal_targets *t, int64_t k)
{
    float v = t->off_value;

    if (k == t->label)
        v += t->lam * t->on_value;
    if (k == t->partner)
        v += (1 - t->lam) * t->on_value;
    return v;
}

/* Returns q^gamma; rounding may have made a zero q negative. */
HOST_DEVICE static inline float focal_power(float q, float gamma)
{
    return gamma > 0 ? (q > 0 ? powf(q, gamma) : q == q ? 0 : q) : 1;
}

HOST_DEVICE static inline float focal_value(float log_p, float gamma)
{
    return -focal_power(-expm1f(log_p), gamma) * log_p;
}

/* gamma (1 - p)^(gamma - 1) p log p - (1 - p)^gamma; log p is about p - 1 near p = 1 */
HOST_DEVICE static inline float focal_slope(float log_p, float gamma)
{
    float q = -expm1f(log_p), power = focal_power(q, gamma);

    if (!(gamma > 0))
        return -1;
    return q > 0 ? power * (gamma * expf(log_p) * log_p / q - 1) : -power;
}

#endif
