/*
 * What all optimizers share. An optimizer is one node over the flat arrays
 *
 *   in     grads (fp32, [trained_len]), control
 *   state  weights, moments (fp32, [trained_len] each)
 *
 * and does nothing if control->overflow is set. Only the elements of its segments are
 * touched; segments ascend and do not overlap, and each has its own weight decay and
 * learning-rate scale. A parameter without a segment is frozen.
 *
 * The gradient of an element is update_gradient(): unscaled, clipped by norm (both are
 * in control->grad_multiplier) and by value. `round` is the level O3: the new weight is
 * rounded to the half type, so that no master weight with more bits exists.
 *
 * Compiled for host and device but for the builder.
 */
#ifndef OPS_UPDATE_H
#define OPS_UPDATE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/half.h"
#include "base/hostdev.h"
#include "ops/control.h"

struct update_segment {
    int64_t offset, len; /* elements of the flat arrays */
    float lr_scale, weight_decay;
    bool round;
};

enum update_round { UPDATE_ROUND_NONE, UPDATE_ROUND_F16, UPDATE_ROUND_BF16 };

struct update {
    const struct update_segment *segment; /* lives as long as the graph */
    int nsegment;
    int round;        /* enum update_round, of the segments that say so */
    float clip_value; /* largest |gradient| of an element; 0: no limit */
};

enum { UPDATE_GRADS, UPDATE_CONTROL };                   /* in[] of an optimizer */
enum { UPDATE_WEIGHTS, UPDATE_MOMENT1, UPDATE_MOMENT2 }; /* out[] */

HOST_DEVICE static inline float update_gradient(float g, float multiplier, float clip)
{
    g *= multiplier;
    if (clip > 0)
        g = g > clip ? clip : g < -clip ? -clip : g;
    return g;
}

HOST_DEVICE static inline float update_rounded(float w, int round)
{
    if (round == UPDATE_ROUND_F16)
        return fp16_to_float(fp16_from_float(w));
    return round == UPDATE_ROUND_BF16 ? bf16_to_float(bf16_from_float(w)) : w;
}

#endif
