/*
 * trainc train --lr-find: a learning-rate range test (Smith, "Cyclical Learning Rates",
 * 2015; fastai's lr_find). The program of the run trains from its initial weights while
 * the rate rises by the same factor at each step, until the loss diverges. Prints the
 * curve and a suggestion; writes nothing.
 */
#ifndef CMD_LR_FIND_H
#define CMD_LR_FIND_H

#include "config/cmdline.h"
#include "config/config.h"
#include "config/problems.h"

#define LR_FIND_FLAGS                                                                    \
    {"--lr-find", NULL,                                                                  \
     "run a learning-rate range test, print the loss curve and a suggestion, and exit; " \
     "saves nothing"},                                                                   \
    {                                                                                    \
        "--lr-find-steps", "N", "number of steps of --lr-find (100)"                     \
    }

bool lr_find_asked(const struct cmdline *line);
void lr_find_check(const struct config *cfg, const struct cmdline *line,
                   struct problems *p);
int lr_find_run(struct config *cfg, const struct cmdline *line);

/* One step of the test: losses are of the batch, and smoothed as fastai does. */
struct lr_find_point {
    double lr, loss, smooth;
};

/*
 * Smooths n > 0 losses, and returns how many of the points count: up to the first whose
 * smoothed loss is over four times the least, or not a number.
 */
int lr_find_smooth(struct lr_find_point *p, int n);
/* The index where the smoothed loss falls fastest over the logarithm of the rate, before
 * its least; -1: it does not fall. */
int lr_find_steepest(const struct lr_find_point *p, int n);

#endif
