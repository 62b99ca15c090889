/*
 * Learning rate schedules, per update: schedule_lr(s, t) is the rate of update t, from 0.
 * Swin's trainer calls its schedule after the update, so that its first two updates both
 * use the first value; here update t uses lr(t).
 *
 * B, W, M are base, warm-up, and minimum rate, T total and w warm-up updates.
 *
 *   warm-up    t < w: W + t (B - W) / w, before every schedule but onecycle
 *   cosine     M + (B - M) (1 + cos(pi t' / T')) / 2      t' = t - w and T' = T - w with
 *   poly       M + (B - M) (1 - t' / T')^power            warmup_prefix, else t and T;
 *                                                        M from t' = T' on
 *   linear     B (1 - 0.99 (t - w) / (T - w))             down to 1 % of B
 *   step       B rate^floor(t / every)
 *   multistep  B rate^(milestones <= t)
 *   constant   B
 *   plateau    B, until the host lowers it (session/plateau.h)
 *   onecycle   two cosine arcs: B / div up to B at pct_start T - 1, then down to
 *             B / div / final_div at T - 1
 *
 * The first five are timm's schedulers as used by Swin (0.4.12; current timm counts
 * step's t from the end of the warm-up), constant is current timm's, onecycle is
 * torch.optim.lr_scheduler.OneCycleLR without cycling the momentum.
 *
 * A run that first trains its head alone (TRAIN.FREEZE_EPOCHS) does so at a constant rate
 * for `frozen` updates; its schedule then begins, with t and T counted from there.
 *
 * With swa, the rate of update swa_start moves to swa_rate in swa_anneal updates and stays
 * there (torch.optim.swa_utils.SWALR, called at each step): along half a cosine or a line.
 *
 * Compiled for host and device.
 */
#ifndef OPS_SCHEDULE_FORMULA_H
#define OPS_SCHEDULE_FORMULA_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hostdev.h"

enum schedule_kind {
    SCHEDULE_COSINE,
    SCHEDULE_LINEAR,
    SCHEDULE_STEP,
    SCHEDULE_MULTISTEP,
    SCHEDULE_POLY,
    SCHEDULE_ONECYCLE,
    SCHEDULE_CONSTANT,
    SCHEDULE_PLATEAU
};

enum { SCHEDULE_MILESTONES = 32 };

struct schedule {
    int kind;
    bool warmup_prefix;
    int64_t total, warmup; /* updates, after the frozen ones */
    double base, warmup_start, min;
    int64_t frozen; /* updates of the head alone, before the schedule */
    double frozen_rate;
    bool swa, swa_linear;
    int64_t swa_start, swa_anneal; /* updates of the run; of the transition */
    double swa_rate;               /* below 0: that of update swa_start */
    int64_t every;                 /* step: updates between two drops */
    double rate;                   /* step, multistep, plateau: factor of a drop */
    int64_t patience;              /* plateau: epochs */
    int64_t milestone[SCHEDULE_MILESTONES];
    int nmilestone;
    double power;                     /* poly */
    double pct_start, div, final_div; /* onecycle */
};

HOST_DEVICE static inline double schedule_arc(double begin, double end, double share)
{
    return end + (begin - end) * 0.5 * (1 + cos(3.14159265358979323846 * share));
}

HOST_DEVICE static inline double schedule_onecycle(const struct schedule *s, int64_t t)
{
    double first = s->base / s->div, last = first / s->final_div;
    double up = s->pct_start * (double)s->total - 1, end = (double)s->total - 1;
    double x = (double)t < end ? (double)t : end;

    if (up > 0 && x <= up)
        return schedule_arc(first, s->base, x / up);
    return end > up ? schedule_arc(s->base, last, (x - up) / (end - up)) : last;
}

HOST_DEVICE static inline double schedule_decay(const struct schedule *s, int64_t t)
{
    int64_t past = s->warmup_prefix ? t - s->warmup : t;
    int64_t span = s->warmup_prefix ? s->total - s->warmup : s->total;

    if (past >= span)
        return s->min;
    if (s->kind == SCHEDULE_COSINE)
        return schedule_arc(s->base, s->min, (double)past / (double)span);
    return s->min + (s->base - s->min) * pow(1 - (double)past / (double)span, s->power);
}

HOST_DEVICE static inline double schedule_drops(const struct schedule *s, int64_t t)
{
    int64_t n = 0;

    if (s->kind == SCHEDULE_STEP)
        n = s->every > 0 ? t / s->every : 0;
    else
        while (n < s->nmilestone && s->milestone[n] <= t)
            n++;
    return s->base * pow(s->rate, (double)n);
}

/* t: updates since the frozen ones. */
HOST_DEVICE static inline double schedule_after(const struct schedule *s, int64_t t)
{
    if (s->kind == SCHEDULE_ONECYCLE)
        return schedule_onecycle(s, t);
    if (t < s->warmup)
        return s->warmup_start +
               (double)t * (s->base - s->warmup_start) / (double)s->warmup;
    if (s->kind == SCHEDULE_CONSTANT || s->kind == SCHEDULE_PLATEAU)
        return s->base;
    if (s->kind == SCHEDULE_COSINE || s->kind == SCHEDULE_POLY)
        return schedule_decay(s, t);
    if (s->kind == SCHEDULE_LINEAR) {
        double span = (double)(s->total - s->warmup), past = (double)(t - s->warmup);

        return past < span ? s->base - s->base * 0.99 * (past / span) : s->base * 0.01;
    }
    return schedule_drops(s, t);
}

HOST_DEVICE static inline double schedule_lr(const struct schedule *s, int64_t t)
{
    double start, share = 1;

    if (t < s->frozen)
        return s->frozen_rate;
    if (!s->swa || t < s->swa_start)
        return schedule_after(s, t - s->frozen);
    start = schedule_after(s, s->swa_start - s->frozen);
    if (s->swa_rate < 0)
        return start;
    if (t - s->swa_start < s->swa_anneal)
        share = (double)(t - s->swa_start) / (double)s->swa_anneal;
    return s->swa_linear ? start + (s->swa_rate - start) * share
                         : schedule_arc(start, s->swa_rate, share);
}

#endif
