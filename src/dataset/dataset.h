/*
 * An open data set: samples 0 .. n-1, each the bytes of one image and a class, or of one
 * image and its label map (segmentation). The loader knows only what is here; how data
 * sets lie on a disk is in table.h.
 *
 *   struct dataset *d = dataset_open("folder", &source);             table.h
 *   dataset_read(d, i, limit, &bytes, &why);
 *   dataset_close(d);
 *
 * Reading is thread-safe. Whatever is wrong with the storage as a whole (no such folder,
 * an empty class) ends the program when it is opened, with a message that names the
 * place; what is wrong with one sample is a reason that dataset_read returns.
 */
#ifndef DATASET_DATASET_H
#define DATASET_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "image/label.h" /* LABEL_IGNORE */

/* A buffer that grows and is used again, or a view of a storage's own memory, which is
 * good until the data set is closed. */
struct dataset_bytes {
    uint8_t *data;
    size_t len, cap; /* cap 0: a view, or nothing */
};

/* Makes room for so many bytes, of unset content; what was there may be lost. */
void dataset_bytes_room(struct dataset_bytes *b, size_t room);
void dataset_bytes_view(struct dataset_bytes *b, const void *data, size_t len);
void dataset_bytes_release(struct dataset_bytes *b);

struct dataset {
    const struct dataset_type *type;
    char *name; /* for messages: the folder or the file */
    int64_t n;
    int nclass;
    char **class_name; /* in the order of the labels */

    /* With label maps: how they are painted, and what their values mean. */
    const struct class_set *set; /* NULL: none of the table */
    uint8_t map[256];            /* class_set_map */

    struct hold *hold; /* hold.h; NULL: samples are read from the storage every time */
};

/* What a storage can do with an open data set; storages that share a form share one. */
struct dataset_type {
    int32_t (*label)(const struct dataset *d, int64_t i);
    /* At most `limit` bytes; a failure of base/failure.h and a reason without the
     * sample's name. */
    int (*read)(const struct dataset *d, int64_t i, int64_t limit,
                struct dataset_bytes *out, struct strbuf *why);
    /* Where the sample lies, for messages: "train/cat/3.jpg". */
    void (*describe)(const struct dataset *d, int64_t i, struct strbuf *name);
    void (*close)(struct dataset *d);
    /* The name of its file as the storage has it; NULL: there are no files. */
    const char *(*name)(const struct dataset *d, int64_t i);
    /* See dataset_stamp; NULL: there are no files. */
    bool (*stamp)(const struct dataset *d, int64_t i, struct strbuf *out);
    /* How often to draw the sample, relative to others; NULL: all are equal. */
    double (*weight)(const struct dataset *d, int64_t i);
    const char *(*label_name)(const struct dataset *d, int64_t i); /* NULL: none */
    /* See dataset_shards; NULL: each sample is a file. */
    const int64_t *(*shards)(const struct dataset *d, int64_t *n);
    /* See dataset_targets; NULL: a class per image. */
    void (*targets)(const struct dataset *d, int64_t i, uint8_t *target);
    /* Of data sets with label maps; NULL: a class per image. */
    int (*read_label)(const struct dataset *d, int64_t i, int64_t limit,
                      struct dataset_bytes *out, struct strbuf *why);
    void (*describe_label)(const struct dataset *d, int64_t i, struct strbuf *name);
    bool (*stamp_label)(const struct dataset *d, int64_t i, struct strbuf *out);
};

int32_t dataset_label(const struct dataset *d, int64_t i);

/* Sets of labels: target[k] is 1 if the image has label k, 0 if not, or TARGET_UNKNOWN.
 * dataset_label() is then 0, or -1 if all are unknown. */
enum { TARGET_UNKNOWN = 255 };
bool dataset_has_targets(const struct dataset *d);
void dataset_targets(const struct dataset *d, int64_t i, uint8_t *target);

/* What a table says in DATA.WEIGHT_COLUMN, else 1. */
double dataset_weight(const struct dataset *d, int64_t i);
int dataset_read(const struct dataset *d, int64_t i, int64_t limit,
                 struct dataset_bytes *out, struct strbuf *why);
void dataset_describe(const struct dataset *d, int64_t i, struct strbuf *name);
/* A hash of the list of samples, not of the files: names, labels and their order. The
 * folder that the data set lies in does not count. Never 0. */
uint64_t dataset_digest(const struct dataset *d);
void dataset_close(struct dataset *d); /* NULL is fine */

/* Of containers: returns first[0 .. *n], the data set's array; file k of *n has the
 * samples first[k] .. first[k + 1] - 1. NULL: each sample is a file. */
const int64_t *dataset_shards(const struct dataset *d, int64_t *n);

/* Label maps: class values in the files' own terms, see d->map. */
bool dataset_has_labels(const struct dataset *d);
int dataset_read_label(const struct dataset *d, int64_t i, int64_t limit,
                       struct dataset_bytes *out, struct strbuf *why);
void dataset_describe_label(const struct dataset *d, int64_t i, struct strbuf *name);
/* Appends name, size and time of the label file's last change. False: there is none. */
bool dataset_stamp_label(const struct dataset *d, int64_t i, struct strbuf *out);

/* The same of the image's file, or of the container that it lies in. */
bool dataset_stamp(const struct dataset *d, int64_t i, struct strbuf *out);

/* For walks over folders: ends the program where `depth` tells that links form a loop. */
void dataset_check_depth(const char *path, int depth);

/*
 * Class lists of a checkpoint and of all splits must be equal, or a class index would
 * mean another class. If they are not: false, and `why` gets a sentence with the classes
 * that only `a` or only `b` has, which it calls a_name and b_name.
 */
bool dataset_same_classes(const char *a_name, const char *const *a, int na,
                          const char *b_name, const char *const *b, int nb,
                          struct strbuf *why);

/* False and such a sentence if the two data sets have different classes. */
bool dataset_fits(const struct dataset *a, const struct dataset *b, struct strbuf *why);

#endif
