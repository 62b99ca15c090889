/*
 * The plateau schedule: after PATIENCE_EPOCHS epochs without a better score, and one
 * more, it multiplies the learning rate by DECAY_RATE. This is PyTorch's
 * ReduceLROnPlateau with the settings of timm's PlateauLRScheduler: mode max, relative
 * threshold 1e-4, no cooldown, changes below 1e-8 are skipped; epochs of the warm-up do
 * not count.
 *
 * It is the only schedule that is no function of the update: the host decides at the end
 * of each epoch and stores the rate in control.plateau_lr.
 */
#ifndef SESSION_PLATEAU_H
#define SESSION_PLATEAU_H

#include <stdbool.h>
#include <stdint.h>

#include "ops/schedule_formula.h"

struct plateau {
    double lr;    /* 0: schedule.base, not lowered yet */
    double best;  /* best score so far; -1: none */
    double score; /* score at the end of the last epoch; NaN: none */
    int64_t bad;  /* consecutive epochs without a better one */
};

#define PLATEAU_START                                                                    \
    (struct plateau)                                                                     \
    {                                                                                    \
        .best = -1, .score = (double)NAN                                                 \
    }

/* Call at the end of each epoch after the warm-up, with p->score as the latest score.
 * Returns true if the rate was lowered. */
bool plateau_judge(struct plateau *p, const struct schedule *s);

#endif
