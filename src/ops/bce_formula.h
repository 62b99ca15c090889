/*
 * One element of the binary cross entropy (ops/bce.h), for kernels on host and device:
 * softplus(z) - t z and its derivative sigmoid(z) - t, without overflow.
 */
#ifndef OPS_BCE_FORMULA_H
#define OPS_BCE_FORMULA_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hostdev.h"

/* Target values of one sample. */
struct bce_rule {
    /* Target added for a label, and for every class: 1 - e, e / K. */
    float on_value, off_value;
    float threshold;
    bool has_threshold;
};

/* `partner`: the other label of a mixed sample, weighted 1 - lam; otherwise same as
 * `label`. */
HOST_DEVICE static inline float bce_target(const struct bce_rule *r, int64_t k,
                                           int32_t label, int32_t partner, float lam)
{
    float t = r->off_value;

    if (k == label)
        t += lam * r->on_value;
    if (k == partner)
        t += (1 - lam) * r->on_value;
    return r->has_threshold ? (t > r->threshold ? 1.0f : 0.0f) : t;
}

HOST_DEVICE static inline float bce_element(float z, float t)
{
    return (z > 0 ? z : z < 0 ? 0 : z) - z * t + log1pf(expf(-fabsf(z)));
}

HOST_DEVICE static inline float bce_derivative(float z, float t)
{
    return 1 / (1 + expf(-z)) - t;
}

#endif
