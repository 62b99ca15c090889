/*
 * Divides samples into bins of given shares: a validation part, the folds of a
 * cross-validation, a fraction of the training images.
 *
 * Stratified: each bin gets its share of every class, and at least one sample of a class
 * that has as many groups as there are bins. Grouped: samples of one group (a patient, a
 * video) share a bin. A pure function of its arguments; a sample's place in the random
 * order depends on its key alone, so a file more moves few others.
 *
 * Each group, the largest first, goes to the bin where it adds least to the sum over
 * classes and bins of fill^2 / (share * size of the class), the method of scikit-learn's
 * StratifiedGroupKFold with a smooth objective; for groups of one sample this is the
 * Sainte-Lague apportionment of each class.
 */
#ifndef DATASET_SPLIT_H
#define DATASET_SPLIT_H

#include <stdint.h>

enum { SPLIT_MOST_BINS = 64 };

struct split_samples {
    int64_t n;
    const int32_t *stratum; /* 0 .. nstratum - 1; NULL: all are of one */
    int nstratum;
    const uint64_t *group; /* equal numbers are one group; NULL: each sample is its own */
    const uint64_t *key;   /* pseudo-random */
};

/* bin[i] of each sample in 0 .. nbin - 1. share: above 0, of each bin; they need not sum
 * to 1. */
void split_assign(const struct split_samples *s, const double *share, int nbin,
                  uint8_t *bin);

#endif
