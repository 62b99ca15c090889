/* A file of a data set into a buffer that is used again. Private to src/dataset. */
#ifndef DATASET_READ_H
#define DATASET_READ_H

#include "dataset/dataset.h"

/*
 * The file at `path` below the open folder `dir`, if it has at most `limit` bytes. -1 and
 * a reason without its name if it cannot be read. `why` must be empty.
 */
int dataset_read_at(int dir, const char *path, int64_t limit, struct dataset_bytes *out,
                    struct strbuf *why);

#endif
