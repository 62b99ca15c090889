/*
 * Keeps the files of a data set in memory, as they are stored. A file is kept when it is
 * first read, while there is room. All others are read from the storage every time.
 *
 *   d->hold = hold_new(d->n, bytes);    dataset_close(d) frees it
 *
 * Thread-safe. Private to src/dataset and to code that opens data sets.
 */
#ifndef DATASET_HOLD_H
#define DATASET_HOLD_H

#include "dataset/dataset.h"

struct hold *hold_new(int64_t n, int64_t bytes);
void hold_free(struct hold *h); /* accepts NULL */

/* Sets `out` to a view that is valid as long as h. Returns false if the file is not held
 * or exceeds `limit`. `label_map` selects the part of sample i. */
bool hold_get(const struct hold *h, int64_t i, bool label_map, int64_t limit,
              struct dataset_bytes *out);
void hold_put(struct hold *h, int64_t i, bool label_map, const struct dataset_bytes *b);

int64_t hold_used(const struct hold *h); /* bytes, at most the limit of hold_new */
int64_t hold_count(const struct hold *h); /* images */

#endif
