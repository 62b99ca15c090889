/*
 * A data set with some of the samples of another: a fold, a validation set, a fraction.
 *
 *   struct dataset *part = dataset_subset(all, index, n, "fold 2/5");
 *   dataset_close(part);    closes all, too
 *
 * Classes, colors, and files are those of the whole data set. Its containers
 * (dataset_shards) keep their order, with the remaining samples.
 */
#ifndef DATASET_SUBSET_H
#define DATASET_SUBSET_H

#include "dataset/dataset.h"

/* index: n samples of `all` in ascending order; copied. `part` is appended to the name in
 * messages: "'photos' (fold 2/5)". */
struct dataset *dataset_subset(struct dataset *all, const int64_t *index, int64_t n,
                               const char *part);

#endif
