/*
 * The files of a data set's samples in memory, as they lie in their storage: each is kept
 * when it is read first, as long as there is room. What has none, or cannot be read, is
 * read from the storage every time.
 *
 *   d->hold = hold_new(d->n, bytes);    dataset_close(d) frees it
 *
 * Calls are thread-safe. Private to src/dataset and to whoever opens data sets.
 */
#ifndef DATASET_HOLD_H
#define DATASET_HOLD_H

#include "dataset/dataset.h"

struct hold *hold_new(int64_t n, int64_t bytes);
void hold_free(struct hold *h); /* NULL is fine */

/* A view into out, which is good as long as h; false: it is not held. `label_map`: which
 * part of sample i. */
bool hold_get(const struct hold *h, int64_t i, bool label_map, int64_t limit,
              struct dataset_bytes *out);
void hold_put(struct hold *h, int64_t i, bool label_map, const struct dataset_bytes *b);

int64_t hold_used(const struct hold *h);  /* bytes, of the most that hold_new allowed */
int64_t hold_count(const struct hold *h); /* images */

#endif
