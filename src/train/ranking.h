/* Images ordered by the score of a class, largest first. */
#ifndef TRAIN_RANKING_H
#define TRAIN_RANKING_H

#include <stdbool.h>
#include <stdint.h>

struct ranked {
    float score;
    bool positive; /* True if the image belongs to the class. */
};

void ranking_sort(struct ranked *r, int64_t n);

/* Counts the images of a sorted ranking with the same score as r[first]. Returns the
 * index of the next lower score. */
int64_t ranking_ties(const struct ranked *r, int64_t n, int64_t first, double *positives,
                     double *negatives);

/* Returns the area under the ROC curve of a sorted ranking, computed as the Mann-Whitney
 * statistic: over all pairs of a positive and a negative image, the fraction in which the
 * positive one has the higher score; ties count half (roc_auc_score). Returns NaN if all
 * images or none are positive. */
double ranking_auroc(const struct ranked *r, int64_t n);

#endif
