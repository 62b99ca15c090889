/*
 * The control tensor: everything that changes between steps, in one small struct on the
 * device. Kernels read it, and only the update ops write it. The host writes it before
 * the first step and after a resume; otherwise it only reads delayed copies.
 *
 * struct metrics accumulates results (MEMORY_METRICS): exact sums since the host last
 * zeroed it, never means of means over batches.
 *
 * Compiled for host and device.
 */
#ifndef OPS_CONTROL_H
#define OPS_CONTROL_H

#include <stdint.h>

enum { CONTROL_LOSSES = 8 };

/* One of several losses with their own scales (AMP.NUM_LOSSES). */
struct loss_scaler {
    double scale;
    int32_t growth_count; /* updates without an overflow of this loss since its last
                           * change */
    int32_t overflow;     /* of this loss, in the current update; 0 between updates */
};

struct control {
    int64_t step;  /* position in the schedules: updates tried, including skipped ones */
    int64_t micro; /* forward/backward runs so far: the step of every random number */
    uint64_t seed;

    double lr;        /* of the next update, before a segment's own scale */
    double ema_decay; /* of the next update */
    /* SCHEDULE_PLATEAU: the rate set by the host; 0: not lowered. */
    double plateau_lr;
    int64_t updates;        /* applied updates: Adam's t, EMA's t */
    int64_t frozen_updates; /* those of the head alone: TRAIN.FREEZE_EPOCHS */

    double loss_scale;      /* 1 if scaling is off, or if `scalers` is used */
    double grad_multiplier; /* factor for gradients: unscales and clips */
    double grad_norm;       /* L2 norm of the unscaled gradients of this update */
    int32_t overflow;       /* a gradient of this update is not finite */
    int32_t growth_count;   /* finite updates since the scale last changed */
    int64_t skipped;        /* updates skipped so far */
    int64_t skipped_row;    /* consecutive ones up to now */
    struct loss_scaler
        scalers[CONTROL_LOSSES]; /* one per loss, if each has its own scale */
};

struct metrics {
    double loss_sum; /* of the valid samples of runs with a finite loss, weighted */
    double measured; /* divisor of loss_sum: the sum of the weights (of pixels: of
                      * their classes; else 1) */
    int64_t count;   /* valid samples: label >= 0 */
    int64_t top1, top5;
    int64_t nonfinite; /* runs with a non-finite loss, which are not in loss_sum */
    int64_t runs;
};

#endif
