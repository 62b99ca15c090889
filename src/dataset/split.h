/*
 * Divides samples into bins with given shares: a validation set, the folds of a
 * cross-validation, a fraction of the training images.
 *
 * Stratified: each bin gets its share of every class, and at least one sample of each
 * class that has at least as many groups as there are bins. Grouped: samples of the same
 * group (a patient, a video) share a bin. The result is a pure function of the arguments.
 * A sample's rank in the random order depends only on its key, so an additional file
 * moves few others.
 *
 * Groups are placed from the largest to the smallest, each in the bin where it adds least
 * to the sum over classes and bins of fill^2 / (share * size of the class). This is the
 * method of scikit-learn's StratifiedGroupKFold with a smooth objective; for groups of
 * one sample it is the Sainte-Lague apportionment of each class.
 */
#ifndef DATASET_SPLIT_H
#define DATASET_SPLIT_H

#include <stdint.h>

enum { SPLIT_MAX_BINS = 64 };

struct split_samples {
    int64_t n;
    const int32_t *stratum; /* 0 .. nstratum - 1; NULL: one stratum */
    int nstratum;
    const uint64_t *group; /* samples with the same number share a bin; NULL: no groups */
    const uint64_t *key;   /* pseudo-random */
};

/* Sets bin[i] to 0 .. nbin - 1 for each sample. share: positive, one per bin; they need
 * not sum to 1. */
void split_assign(const struct split_samples *s, const double *share, int nbin,
                  uint8_t *bin);

#endif
