/*
 * Samples that are a file and a class each: what the folders of classes and the lists of
 * files share. Private to src/dataset.
 */
#ifndef DATASET_CLASS_FILES_H
#define DATASET_CLASS_FILES_H

#include "base/arena.h"
#include "dataset/dataset.h"

struct class_files {
    struct dataset base;
    struct class_file {
        const char *path; /* below the root, or from / */
        int32_t label;
        const uint8_t *target; /* a set of labels, or NULL */
        float weight; /* 1, or what a table says */
    } * file;
    size_t cap;
    struct arena mem; /* of texts */
    char *text;       /* the same; a heap string or NULL */
    char *root;
    int fd; /* of the root: files are opened below it */
};

/* `name` is the data set's. Ends the program if there is no folder `root`. Both are
 * copied. */
struct class_files *class_files_new(const char *root, const char *name);

/* The text of the path stays the caller's: it may lie in mem, or in text. */
void class_files_add(struct class_files *f, const char *path, int32_t label);

/* The same with a set of labels, which stays the caller's; of all samples, or of none. */
void class_files_add_set(struct class_files *f, const char *path, const uint8_t *target);

/* The samples have the weights of f->file. */
void class_files_set_weighted(struct class_files *f);

#endif
