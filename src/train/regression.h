/*
 * Scores of a regression (MODEL.TASK regression), computed from the values and targets of
 * an evaluation, in the targets' units. Definitions and edge cases are scikit-learn's:
 *
 *   mae   mean |value - target| (mean_absolute_error)
 *   rmse  root of the mean of (value - target)^2 (root_mean_squared_error)
 *   r2    1 - sum (value - target)^2 / sum (target - mean target)^2 (r2_score); with a
 *         constant target 1 if all values are exact, else 0; NaN with a single image
 *
 * The means over the targets have equal weights (multioutput="uniform_average"). All
 * scores are NaN if there are no images or a value is NaN.
 */
#ifndef TRAIN_REGRESSION_H
#define TRAIN_REGRESSION_H

#include <stdint.h>

#include "base/strbuf.h"
#include "train/image_rows.h"

struct regression_score {
    double mae, rmse, r2;
};

struct regression_scores {
    struct regression_score mean;
    int64_t images;
    int targets;
    struct regression_score score[]; /* [targets] */
};

/* Each row holds the values and the targets of one image. */
void regression_init(struct image_rows *rows, int targets);
/* Adds the image with index `sample` in the data set. */
void regression_add(struct image_rows *rows, int64_t sample, const float *target,
                    const float *value);

/* Returns the scores, which the caller frees. */
struct regression_scores *regression_scores_of(const struct image_rows *rows);

/* Appends a CSV table with a line per target. */
void regression_add_csv(struct strbuf *out, const struct regression_scores *s,
                        const char *const *name);

#endif
