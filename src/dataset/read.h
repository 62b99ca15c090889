/* Reads a file of a data set into a reusable buffer. Private to src/dataset, except for
 * dataset_try_again. */
#ifndef DATASET_READ_H
#define DATASET_READ_H

#include "dataset/dataset.h"

/*
 * Reads the file at `path` below the open folder `dir`, at most `limit` bytes. Returns a
 * failure of base/failure.h and a reason without the file's name. `why` must be empty.
 */
int dataset_read_at(int dir, const char *path, int64_t limit, struct dataset_bytes *out,
                    struct strbuf *why);

/* Appends name, size, and modification time. Returns false if the file is missing. */
bool dataset_stamp_file(int dir, const char *path, struct strbuf *out);

/* Failures of the machine are retried after pauses that grow by a factor of 4. */
enum { DATASET_RETRIES = 4 };
#define DATASET_RETRY_PAUSE 0.1 /* first pause in seconds; all together take 8.5 */

struct dataset_retry {
    double pause;
    int tries;
};

/* Returns true, after a pause, if the operation that returned `rc` should be retried. */
bool dataset_try_again(struct dataset_retry *r, int rc);

#endif
