/* Images ordered by the score of a class, largest first. */
#ifndef TRAIN_RANKING_H
#define TRAIN_RANKING_H

#include <stdbool.h>
#include <stdint.h>

struct ranked {
    float score;
    bool positive; /* the image is of the class */
};

void ranking_sort(struct ranked *r, int64_t n);

/* Counts the images with the score of r[first], of a sorted ranking. Returns the index of
 * the next lower score. */
int64_t ranking_ties(const struct ranked *r, int64_t n, int64_t first, double *positives,
                     double *negatives);

/* Returns the area under the ROC curve of a sorted ranking, by the Mann-Whitney statistic:
 * the share of pairs of a positive and a negative image in which the former has the higher
 * score; ties count half (roc_auc_score). NaN if all images are positive or none is. */
double ranking_auroc(const struct ranked *r, int64_t n);

#endif
