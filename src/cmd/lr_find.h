/*
 * trainc train --lr-find: a learning-rate range test (Smith, "Cyclical Learning Rates",
 * 2015; fastai's lr_find). Trains from the initial weights while each step multiplies the
 * rate by the same factor, until the loss diverges. Prints the curve and a suggestion;
 * writes no files.
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

bool lr_find_requested(const struct cmdline *line);
void lr_find_check(const struct config *cfg, const struct cmdline *line,
                   struct problems *p);
int lr_find_run(struct config *cfg, const struct cmdline *line);

/* One step of the test: the loss of its batch, and the loss smoothed as in fastai. */
struct lr_find_point {
    double lr, loss, smooth;
};

/*
 * Smooths n > 0 losses. Returns the number of points before the first whose smoothed loss
 * is NaN or exceeds four times the minimum.
 */
int lr_find_smooth(struct lr_find_point *p, int n);
/*
 * Returns the index before the minimum where the smoothed loss falls fastest over the
 * logarithm of the rate, measured over a tenth of the points, or -1 if it does not fall.
 * Leaves out the first tenth of the points, as Lightning's Tuner leaves out 10: their
 * smoothed losses are means of few batches, whose noise is steeper than any real fall.
 */
int lr_find_steepest(const struct lr_find_point *p, int n);

#endif
