/*
 * An open data set: samples 0 to n-1, each the bytes of an image with a class or, for
 * segmentation, with a label map. The loader knows only this interface; table.h lists how
 * data sets are stored.
 *
 *   struct dataset *d = dataset_open("folder", &source);             table.h
 *   dataset_read(d, i, limit, &bytes, &why);
 *   dataset_close(d);
 *
 * Reading is thread-safe. An error of the whole data set (a missing folder, an empty
 * class) ends the program when it is opened, with a message that names the place.
 * dataset_read returns errors of a single sample.
 */
#ifndef DATASET_DATASET_H
#define DATASET_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "image/label.h" /* LABEL_IGNORE */

/* A growing, reusable buffer, or a view of memory that the storage owns, which is valid
 * until the data set is closed. */
struct dataset_bytes {
    uint8_t *data;
    size_t len, cap; /* cap 0: a view, or empty */
};

/* Ensures a capacity of `room` bytes. The contents become undefined. */
void dataset_bytes_reserve(struct dataset_bytes *b, size_t room);
void dataset_bytes_view(struct dataset_bytes *b, const void *data, size_t len);
void dataset_bytes_release(struct dataset_bytes *b);

struct dataset {
    const struct dataset_type *type;
    char *name; /* folder or file, for messages */
    int64_t n;
    int nclass;
    char **class_name; /* in label order; of values: the names of the targets */
    bool values;       /* targets are numbers (dataset_targets) */
    int32_t *order;    /* class of each label of the storage; NULL: the label itself.
                     * Set by dataset_order_classes() */

    /* With label maps: the names and colors of classes, and the meaning of values. */
    const struct class_set *set; /* NULL: no class set */
    uint8_t map[256];            /* filled by class_set_map() */

    struct hold *hold; /* hold.h; NULL: every read goes to the storage */
};

/* Operations of a storage on an open data set. Storages with the same layout share
 * one. */
struct dataset_type {
    int32_t (*label)(const struct dataset *d, int64_t i);
    /* Reads at most `limit` bytes. Returns a failure (base/failure.h), with a reason that
     * does not name the sample. */
    int (*read)(const struct dataset *d, int64_t i, int64_t limit,
                struct dataset_bytes *out, struct strbuf *why);
    /* Appends the sample's location for messages: "train/cat/3.jpg". */
    void (*describe)(const struct dataset *d, int64_t i, struct strbuf *name);
    void (*close)(struct dataset *d);
    /* Returns the sample's file name in the storage. NULL if there are no files. */
    const char *(*name)(const struct dataset *d, int64_t i);
    /* See dataset_stamp. NULL if there are no files. */
    bool (*stamp)(const struct dataset *d, int64_t i, struct strbuf *out);
    /* Returns how often to draw the sample, relative to others. NULL if all are equal. */
    double (*weight)(const struct dataset *d, int64_t i);
    const char *(*label_name)(const struct dataset *d, int64_t i); /* may be NULL */
    /* See dataset_shards. NULL if each sample is a file. */
    const int64_t *(*shards)(const struct dataset *d, int64_t *n);
    /* See dataset_targets. NULL if an image has one class. */
    void (*targets)(const struct dataset *d, int64_t i, void *target);
    /* Only with label maps; NULL if an image has one class. */
    int (*read_label)(const struct dataset *d, int64_t i, int64_t limit,
                      struct dataset_bytes *out, struct strbuf *why);
    void (*describe_label)(const struct dataset *d, int64_t i, struct strbuf *name);
    bool (*stamp_label)(const struct dataset *d, int64_t i, struct strbuf *out);
};

int32_t dataset_label(const struct dataset *d, int64_t i);

/* Sets of labels: target[k] is 1 if the image has label k, 0 if not, or TARGET_UNKNOWN.
 * dataset_label() is then 0, or -1 if all are unknown. With d->values, target[k] is a float,
 * and dataset_label() is 0. */
enum { TARGET_UNKNOWN = 255 };
bool dataset_has_targets(const struct dataset *d);
size_t dataset_target_size(const struct dataset *d); /* bytes of an image's targets */
void dataset_targets(const struct dataset *d, int64_t i, void *target);

/* Gives the classes another order; name[nclass] has the same names as d->class_name. Call it
 * once, before labels are read. */
void dataset_order_classes(struct dataset *d, const char *const *name);

/* Returns the value of DATA.WEIGHT_COLUMN in a table, or 1. */
double dataset_weight(const struct dataset *d, int64_t i);
int dataset_read(const struct dataset *d, int64_t i, int64_t limit,
                 struct dataset_bytes *out, struct strbuf *why);
void dataset_describe(const struct dataset *d, int64_t i, struct strbuf *name);
/* Returns a nonzero hash of the list of samples: names, labels, and their order. The
 * contents of files and the data set's folder do not affect it. */
uint64_t dataset_digest(const struct dataset *d);
void dataset_close(struct dataset *d); /* accepts NULL */

/* Returns first[0 .. *n], which the data set owns: file k of *n contains samples first[k]
 * to first[k + 1] - 1. Returns NULL if each sample is a file. */
const int64_t *dataset_shards(const struct dataset *d, int64_t *n);

/* Label maps: values as in the files; d->map converts them to classes. */
bool dataset_has_labels(const struct dataset *d);
int dataset_read_label(const struct dataset *d, int64_t i, int64_t limit,
                       struct dataset_bytes *out, struct strbuf *why);
void dataset_describe_label(const struct dataset *d, int64_t i, struct strbuf *name);
/* Appends name, size, and modification time of the label file. Returns false if there is
 * none. */
bool dataset_stamp_label(const struct dataset *d, int64_t i, struct strbuf *out);

/* The same for the image file, or the container that holds the image. */
bool dataset_stamp(const struct dataset *d, int64_t i, struct strbuf *out);

/* Ends the program if `depth`, the depth of a directory walk, indicates a loop of
 * links. */
void dataset_check_depth(const char *path, int depth);

/*
 * The class lists of a checkpoint and of all splits must be equal, since a class index
 * would otherwise change its meaning. Returns false if they differ, and appends a
 * sentence to `why` with the classes that only one of them has; it calls the lists a_name
 * and b_name.
 */
bool dataset_same_classes(const char *a_name, const char *const *a, int na,
                          const char *b_name, const char *const *b, int nb,
                          struct strbuf *why);

/* Same as dataset_same_classes, for two data sets. */
bool dataset_fits(const struct dataset *a, const struct dataset *b, struct strbuf *why);

#endif
