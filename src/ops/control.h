/*
 * The control tensor: everything that changes between steps, in one small struct on the
 * device. Kernels read it; only the update ops write it; the host writes it before the
 * first step and after a resume, and otherwise reads copies of it, late.
 *
 * struct metrics is the accumulator beside it (MEMORY_METRICS): exact sums since the host
 * last zeroed it, never means of the means of batches.
 *
 * Compiled for host and device.
 */
#ifndef OPS_CONTROL_H
#define OPS_CONTROL_H

#include <stdint.h>

enum { CONTROL_LOSSES = 8 };

/* Of one of several losses with scales of their own (AMP.NUM_LOSSES). */
struct loss_scaler {
    double scale;
    int32_t growth_count; /* updates without an overflow of this loss since it changed */
    int32_t overflow;     /* of this loss, in the update under way; 0 between updates */
};

struct control {
    int64_t step;  /* where the schedules are: updates tried, skipped ones included */
    int64_t micro; /* forward/backward runs so far: the step of every random number */
    uint64_t seed;

    double lr;        /* of the coming update, before a segment's own scale */
    double ema_decay; /* of the coming update */
    /* SCHEDULE_PLATEAU: what the host has lowered the rate to; 0: it has not. */
    double plateau_lr;
    int64_t updates; /* updates that were applied: Adam's t, EMA's t */

    double loss_scale;      /* 1 when scaling is off, or in `own` */
    double grad_multiplier; /* what gradients are multiplied by: unscale and clip */
    double grad_norm;       /* L2 norm of the unscaled gradients of this update */
    int32_t overflow;       /* this update met a gradient that is not finite */
    int32_t growth_count;   /* finite updates since the scale last changed */
    int64_t skipped;        /* updates skipped so far */
    int64_t skipped_row;    /* and in a row, now */
    struct loss_scaler own[CONTROL_LOSSES]; /* of the losses, if each has its own scale */
};

struct metrics {
    double loss_sum; /* of the valid samples of runs with a finite loss, weighted */
    double measured; /* the sum of their weights (of pixels: of their classes; else 1):
                      * loss_sum is divided by this */
    int64_t count;   /* valid samples: label >= 0 */
    int64_t top1, top5;
    int64_t nonfinite; /* runs whose loss was not finite; they are not in loss_sum */
    int64_t runs;
};

#endif
