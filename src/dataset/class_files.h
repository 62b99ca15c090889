/*
 * Samples with one file and one class each: shared by class folders and file lists.
 * Private to src/dataset.
 */
#ifndef DATASET_CLASS_FILES_H
#define DATASET_CLASS_FILES_H

#include "base/arena.h"
#include "dataset/dataset.h"

struct class_files {
    struct dataset base;
    struct class_file {
        const char *path; /* below the root, or absolute */
        int32_t label;
        const void *target; /* set of labels, uint8 [nclass]; values, float [nclass]; or
                             * NULL */
        float weight;       /* 1, or the value in a table */
    } * file;
    size_t cap;
    struct arena mem; /* storage of strings */
    char *text;       /* storage of strings; on the heap; may be NULL */
    char *root;
    int fd; /* open root directory */
};

/* `name` is the data set's. Copies both strings. Ends the program if the folder `root`
 * cannot be opened. */
struct class_files *class_files_new(const char *root, const char *name);

/* Does not copy the path; it may be in `mem` or `text`. */
void class_files_add(struct class_files *f, const char *path, int32_t label);

/* The same with a set of labels, which is not copied. Either all samples have a set, or
 * none. */
void class_files_add_set(struct class_files *f, const char *path, const uint8_t *target);

/* The same with a number per target. */
void class_files_add_values(struct class_files *f, const char *path, const float *value);

/* Makes the data set report the weights in f->file. */
void class_files_set_weighted(struct class_files *f);

#endif
