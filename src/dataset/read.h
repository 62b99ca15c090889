/* A file of a data set into a buffer that is used again. Private to
 * src/dataset, but for dataset_try_again. */
#ifndef DATASET_READ_H
#define DATASET_READ_H

#include "dataset/dataset.h"

/*
 * The file at `path` below the open folder `dir`, if it has at most `limit` bytes. A
 * failure of base/failure.h and a reason without its name if it cannot be read. `why`
 * must be empty.
 */
int dataset_read_at(int dir, const char *path, int64_t limit, struct dataset_bytes *out,
                    struct strbuf *why);

/* Appends the name, the size and the time of the last change. False: there is none. */
bool dataset_stamp_file(int dir, const char *path, struct strbuf *out);

/* What the machine could not do is tried again, after pauses that grow by a factor
 * of 4. */
enum { DATASET_RETRIES = 4 };
#define DATASET_RETRY_PAUSE 0.1 /* seconds, the first one; all together are 8.5 */

struct dataset_retry {
    double pause;
    int tries;
};

/* After `rc`: false, or true after a pause. */
bool dataset_try_again(struct dataset_retry *r, int rc);

#endif
