/*
 * Changes of the control tensor in the update phase, in the order of an update:
 *
 *   control_gradients   after the sum of squares: overflow flag, norm, unscaling
 *   control_prepare     rate, clip factor, and EMA decay of this update
 *   control_finish      after optimizer and EMA: counters and the dynamic loss scale
 *
 * control_micro replaces all of them after a micro-batch that only accumulates. The
 * gradients of the backward phase are multiplied by loss_scale (a mean over micro-batches
 * is already included: ops/loss_scale.h); the multiplier removes it.
 *
 * Loss scale: torch.amp.GradScaler's rules (x growth after growth_interval good updates
 * in a row, x backoff after a bad one) with a minimum. A bad update is skipped
 * completely. With scaler.losses > 1 each loss has its own scale, which depends only on
 * overflows of that loss, as in Apex's amp.initialize(num_losses=N); an overflow of one
 * loss skips the update. Clipping: torch.nn.utils.clip_grad_norm_, coefficient max /
 * (norm + 1e-6) if below 1. EMA: decay (1 - exp(-u / ramp)), u counting this update; ramp
 * 0: the plain decay.
 *
 * frozen_updates follows `updates` while only the head is trained; the others then count
 * their own updates from there (ops/update.h).
 *
 * Compiled for host and device.
 */
#ifndef OPS_CONTROL_FORMULA_H
#define OPS_CONTROL_FORMULA_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hostdev.h"
#include "ops/control.h"
#include "ops/schedule_formula.h"

struct scaler {
    bool dynamic;
    double growth, backoff, min;
    int64_t growth_interval;
    int losses; /* 0 or 1: one scale for all; otherwise the number of scales, one per
                 * loss */
};

HOST_DEVICE static inline void control_gradients(struct control *c, double sum_squares)
{
    double unscale = 1 / c->loss_scale;

    c->overflow = !isfinite(sum_squares);
    c->grad_norm = sqrt(sum_squares) * unscale;
    c->grad_multiplier = unscale;
}

HOST_DEVICE static inline double control_ema_decay(double decay, double ramp,
                                                   int64_t update)
{
    return ramp > 0 ? decay * (1 - exp(-(double)update / ramp)) : decay;
}

HOST_DEVICE static inline double control_lr(const struct schedule *s, int64_t step,
                                            double plateau_lr)
{
    bool lowered =
        s->kind == SCHEDULE_PLATEAU && plateau_lr > 0 && step >= s->frozen + s->warmup;

    return lowered ? plateau_lr : schedule_lr(s, step);
}

HOST_DEVICE static inline void control_prepare(struct control *c,
                                               const struct schedule *s, double clip_norm,
                                               double ema_decay, double ema_ramp)
{
    c->lr = control_lr(s, c->step, c->plateau_lr);
    c->ema_decay = control_ema_decay(ema_decay, ema_ramp, c->updates + 1);
    if (clip_norm > 0) {
        double coefficient = clip_norm / (c->grad_norm + 1e-6);

        if (coefficient < 1)
            c->grad_multiplier *= coefficient;
    }
}

HOST_DEVICE static inline void scaler_update(const struct scaler *s, double *scale,
                                             int32_t *growth_count, bool overflow)
{
    if (overflow) {
        *growth_count = 0;
        *scale *= s->backoff;
        if (*scale < s->min)
            *scale = s->min;
    } else if (++*growth_count >= s->growth_interval) {
        *growth_count = 0;
        *scale *= s->growth;
    }
}

HOST_DEVICE static inline void control_scale(struct control *c, const struct scaler *s)
{
    if (s->losses <= 1)
        scaler_update(s, &c->loss_scale, &c->growth_count, c->overflow != 0);
    for (int k = 0; s->losses > 1 && k < s->losses; k++) {
        struct loss_scaler *scaler = &c->scalers[k];

        scaler_update(s, &scaler->scale, &scaler->growth_count, scaler->overflow != 0);
        scaler->overflow = 0;
    }
}

/* `held`: the update was one of the head alone. */
HOST_DEVICE static inline void control_finish(struct control *c, const struct scaler *s,
                                              bool held)
{
    if (c->overflow) {
        c->skipped++;
        c->skipped_row++;
    } else {
        c->updates++;
        c->skipped_row = 0;
    }
    if (held)
        c->frozen_updates = c->updates;
    if (s->dynamic)
        control_scale(c, s);
    c->step++;
    c->micro++;
}

HOST_DEVICE static inline void control_micro(struct control *c)
{
    c->micro++;
}

#endif
