/* A file that any number of threads read at once. Private to src/dataset. */
#ifndef DATASET_RAW_FILE_H
#define DATASET_RAW_FILE_H

#include "dataset/dataset.h"

struct raw_file {
    char *path;
    int fd;
    uint64_t size;
};

/* Returns NULL and a reason, without the file's name, on failure. */
void *raw_file_open(const char *path, struct strbuf *why);
void raw_file_close(void *file);

/* For a file of the wrong kind: true, with a reason, if it is compressed by gzip. */
bool raw_file_gzipped(const struct raw_file *f, struct strbuf *why);

/* How each record of a kind of file begins. */
struct raw_head {
    const char *kind; /* kind of file: "RecordIO" */
    size_t len, step; /* len: at most 16 bytes; records begin at multiples of `step` */
    bool (*is)(const uint8_t *p);
};

/* Succeeds if the file is empty or a head is at its start or, as the first record may be
 * damaged, in its first 16 MiB. Otherwise returns a failure and a reason. */
int raw_file_check(const struct raw_file *f, const struct raw_head *h,
                   struct strbuf *why);

/* Reads exactly `len` bytes at `offset`. Returns a failure of base/failure.h and a reason. */
int raw_file_get(const struct raw_file *f, uint64_t offset, void *dst, size_t len,
                 struct strbuf *why);

/* The same, into `out`; fails if `len` exceeds `limit`. */
int raw_file_read(const struct raw_file *f, uint64_t offset, uint64_t len, int64_t limit,
                  struct dataset_bytes *out, struct strbuf *why);

#endif
