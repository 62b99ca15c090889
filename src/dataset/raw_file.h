/*
 * A file of which parts are read, by any number of threads at once. Private to
 * src/dataset.
 */
#ifndef DATASET_RAW_FILE_H
#define DATASET_RAW_FILE_H

#include "dataset/dataset.h"

struct raw_file {
    char *path;
    int fd;
    uint64_t size;
};

/* NULL and a reason without the file's name. */
void *raw_file_open(const char *path, struct strbuf *why);
void raw_file_close(void *file);

/* Of a file that is none of its kind: is it compressed by gzip? Then a reason that says
 * so. */
bool raw_file_gzipped(const struct raw_file *f, struct strbuf *why);

/* What each record of a kind of file begins with. */
struct raw_head {
    const char *kind; /* of the file: "RecordIO" */
    size_t len, step; /* its bytes, at most 16; records begin at multiples of `step` */
    bool (*is)(const uint8_t *p);
};

/* Is the file of that kind? It is if there is a head at its start or, since the first
 * one may be damaged, in its first 16 MiB; and if it is empty. Else a failure and a
 * reason. */
int raw_file_check(const struct raw_file *f, const struct raw_head *h,
                   struct strbuf *why);

/* Exactly `len` bytes from `at`; a failure of base/failure.h
 * and a reason. */
int raw_file_get(const struct raw_file *f, uint64_t at, void *to, size_t len,
                 struct strbuf *why);

/* The same into out, if they are at most `limit`. */
int raw_file_read(const struct raw_file *f, uint64_t at, uint64_t len, int64_t limit,
                  struct dataset_bytes *out, struct strbuf *why);

#endif
