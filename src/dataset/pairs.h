/*
 * Samples that are two files, a picture and its label picture: what cityscapes.c,
 * list.c and voc.c share. Private to src/dataset.
 */
#ifndef DATASET_PAIRS_H
#define DATASET_PAIRS_H

#include "base/arena.h"
#include "dataset/dataset.h"

struct pairs {
    struct dataset base;
    struct pair {
        const char *image, *label; /* below the root, or from /; in mem */
        int line, label_line;      /* of the list files; 0: there is none */
    } * pair;
    size_t cap;
    struct arena mem;
    char *root;
    int fd;                              /* of the root: files are opened below it */
    const char *image_list, *label_list; /* for messages: "train.txt"; NULL: none */
};

/* `name` is the data set's. Dies if there is no folder `root`. */
struct pairs *pairs_new(const char *root, const char *name,
                        const struct label_options *o);

/* The two names are copied. */
void pairs_add(struct pairs *p, const struct pair *pair);

/* Ends the program with the line of the first file that is not there; all have one. */
void pairs_check_files(const struct pairs *p);

#endif
