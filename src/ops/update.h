/*
 * Shared by all optimizers. An optimizer is one node over the flat arrays
 *
 *   in     grads (fp32, [trained_len]; or packed, see ops/half_grads.h), control
 *   state  weights, moments (fp32, [trained_len] each); moments are zero before the first
 *         update
 *
 * and does nothing if control->overflow is set. It changes only the elements of its
 * segments; segments ascend and do not overlap, and each has its own weight decay and
 * learning rate scale. A parameter without a segment is frozen: its moments stay zero.
 *
 * The gradient of an element is update_gradient(): unscaled, clipped by norm (both are in
 * control->grad_multiplier) and by value. `round` is the level O3: the new weight is
 * rounded to the 16-bit type, so that no master weight with more bits exists.
 *
 * Compiled for host and device.
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
    bool late; /* held while the head was trained alone: its updates count from there */
};

enum update_round { UPDATE_ROUND_NONE, UPDATE_ROUND_F16, UPDATE_ROUND_BF16 };

struct update {
    const struct update_segment *segment; /* must outlive the graph */
    int nsegment;
    int round;        /* enum update_round, for segments with .round */
    float clip_value; /* largest |gradient| of an element; 0: no limit */
};

/* From TRAIN.OPTIMIZER. An optimizer reads those in its row (ops/optimizer_table.c). */
struct hyperparameters {
    double momentum, alpha, beta1, beta2, eps, trust_coeff;
    bool nesterov, trust_clip, always_adapt;
};

/* Attributes of every optimizer's node. */
struct optimizer_attrs {
    const char *layer;
    struct update update;
    struct hyperparameters h;
    bool decoupled; /* AdamW: weight decay shrinks the weight instead of entering the
                     * gradient */
};

enum { UPDATE_GRADS, UPDATE_CONTROL };                   /* in[] of an optimizer */
enum { UPDATE_WEIGHTS, UPDATE_MOMENT1, UPDATE_MOMENT2 }; /* out[] */

/* For one segment in one update: how to read its gradients and store its weights, and its
 * trust ratio, if the optimizer has one. */
struct update_rule {
    float multiplier, clip, trust;
    int round;
};

HOST_DEVICE static inline struct update_rule update_rule(const struct update *u,
                                                         const struct update_segment *s,
                                                         const struct control *c)
{
    struct update_rule r;

    r.multiplier = (float)c->grad_multiplier;
    r.clip = u->clip_value;
    r.trust = 1;
    r.round = s->round ? u->round : UPDATE_ROUND_NONE;
    return r;
}

/* True if the segment has its own trust ratio, given that the optimizer has them. */
HOST_DEVICE static inline bool update_adapts(const struct optimizer_attrs *a,
                                             const struct update_segment *s)
{
    return s->weight_decay != 0 || a->h.always_adapt;
}

HOST_DEVICE static inline double update_lr(const struct update_segment *s,
                                           const struct control *c)
{
    return c->lr * (double)s->lr_scale;
}

/* Returns the number of this update of the segment, from 1: Adam's t, PyTorch's "step". */
HOST_DEVICE static inline double update_time(const struct update_segment *s,
                                             const struct control *c)
{
    return (double)(c->updates + 1 - (s->late ? c->frozen_updates : 0));
}

HOST_DEVICE static inline float update_gradient(float g, const struct update_rule *r)
{
    g *= r->multiplier;
    if (r->clip > 0)
        g = g > r->clip ? r->clip : g < -r->clip ? -r->clip : g;
    return g;
}

HOST_DEVICE static inline float update_rounded(float w, int round)
{
    if (round == UPDATE_ROUND_F16)
        return fp16_to_float(fp16_from_float(w));
    return round == UPDATE_ROUND_BF16 ? bf16_to_float(bf16_from_float(w)) : w;
}

#endif
