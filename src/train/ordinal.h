/*
 * Scores of ordered classes (MODEL.TASK ordinal), computed from the rows of
 * train/class_scores.h; the answer is the most probable class. Definitions are
 * scikit-learn's:
 *
 *   mae    mean distance between class and answer, in classes (mean_absolute_error of the
 *          class indices)
 *   kappa  quadratic weighted kappa (cohen_kappa_score with weights="quadratic" and all
 *          classes as labels); NaN if all classes and answers are one class
 *
 * Both are NaN if there are no images or a probability is NaN.
 */
#ifndef TRAIN_ORDINAL_H
#define TRAIN_ORDINAL_H

#include "train/image_rows.h"

struct ordinal_scores {
    double mae, kappa;
};

struct ordinal_scores ordinal_scores_unknown(void); /* all NaN */
struct ordinal_scores ordinal_scores_of(const struct image_rows *rows);

#endif
