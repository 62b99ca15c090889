/*
 * The rate that waits for a better score: after PATIENCE_EPOCHS epochs without one, and
 * one more, it is multiplied by DECAY_RATE. PyTorch's ReduceLROnPlateau with the settings
 * of timm's PlateauLRScheduler: mode max, better by one in ten thousand, no cooldown, a
 * change below 1e-8 is none; epochs of the warm-up do not count.
 *
 * It is the one schedule that is no function of the update: the host judges at the end of
 * each epoch and leaves the rate in control.plateau_lr.
 */
#ifndef SESSION_PLATEAU_H
#define SESSION_PLATEAU_H

#include <stdbool.h>
#include <stdint.h>

#include "ops/schedule_formula.h"

struct plateau {
    double lr;    /* 0: schedule.base, it was never lowered */
    double best;  /* of the scores judged; -1: none */
    double score; /* the last one, at the end of an epoch; NaN: none */
    int64_t bad;  /* epochs without a better one, in a row */
};

#define PLATEAU_START                                                                    \
    (struct plateau)                                                                     \
    {                                                                                    \
        .best = -1, .score = (double)NAN                                                 \
    }

/* An epoch that did not belong to the warm-up has ended, with p->score as the last score
 * that there is. True: the rate was lowered. */
bool plateau_judge(struct plateau *p, const struct schedule *s);

#endif
