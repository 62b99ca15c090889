/*
 * A data set: samples 0 .. n-1, each the bytes of one picture and a class. One file of
 * this folder a storage; the loader knows only what is here.
 *
 *   struct dataset *d = folder_open("imagenet/train");
 *   dataset_read(d, i, limit, &bytes, &why);
 *   dataset_close(d);
 *
 * Reading is thread-safe. Whatever is wrong with the storage as a whole (no such folder,
 * an empty class) ends the program when it is opened, with the place; what is wrong with
 * one sample is a reason that dataset_read returns.
 */
#ifndef DATASET_DATASET_H
#define DATASET_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "image/label.h" /* LABEL_IGNORE */

/* A buffer that grows and is used again. */
struct dataset_bytes {
    uint8_t *data;
    size_t len, cap;
};

void dataset_bytes_release(struct dataset_bytes *b);

struct dataset {
    const struct dataset_type *type;
    char *name; /* for messages: the folder or the file */
    int64_t n;
    int nclass;
    char **class_name; /* in the order of the labels */
};

struct dataset_type {
    const char *name;
    int32_t (*label)(const struct dataset *d, int64_t i);
    /* At most `limit` bytes; -1 and a reason without the sample's name. */
    int (*read)(const struct dataset *d, int64_t i, int64_t limit,
                struct dataset_bytes *out, struct strbuf *why);
    /* Where the sample lies, for messages: "train/cat/3.jpg". */
    void (*describe)(const struct dataset *d, int64_t i, struct strbuf *name);
    void (*close)(struct dataset *d);
};

int32_t dataset_label(const struct dataset *d, int64_t i);
int dataset_read(const struct dataset *d, int64_t i, int64_t limit,
                 struct dataset_bytes *out, struct strbuf *why);
void dataset_describe(const struct dataset *d, int64_t i, struct strbuf *name);
void dataset_close(struct dataset *d); /* NULL is fine */

/*
 * ImageFolder: dir/CLASS/.../FILE, at any depth, links followed. Classes are the folders
 * of `dir` in byte order (torchvision's order; timm's natural order puts class2 before
 * class10), samples follow class by class in byte order of their paths. Pictures are told
 * by their extension, in upper or lower case: jpg, jpeg, jpe, png, bmp, gif, ppm, pgm.
 * Hidden files and folders are passed over; what else is left out is noted in the log. A
 * class folder without a picture is an error.
 */
struct dataset *folder_open(const char *dir);

/*
 * Pictures without files, for runs that only try whether things work: noise around a
 * colour of the class, which is sample index modulo `classes`. What is in sample i is a
 * function of `split`, `size` and i.
 */
struct synthetic_options {
    const char *name; /* of the split, for messages */
    uint32_t split;   /* other splits, other noise */
    int64_t samples;
    int classes, size; /* pixels a side */
};

struct dataset *synthetic_open(const struct synthetic_options *o);

/*
 * Class lists must be equal, in a checkpoint and between splits: a class index would mean
 * something else. False and a sentence with the classes that only `a` or only `b` has,
 * called by the two names.
 */
bool dataset_same_classes(const char *a_name, const char *const *a, int na,
                          const char *b_name, const char *const *b, int nb,
                          struct strbuf *why);

/* Ends the program if the two data sets have different classes. */
void dataset_check_classes(const struct dataset *a, const struct dataset *b);

#endif
