/*
 * Samples that are two files, an image and its label map: what the storages of label maps
 * share. Private to src/dataset.
 */
#ifndef DATASET_PAIRS_H
#define DATASET_PAIRS_H

#include "base/arena.h"
#include "dataset/table.h"

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

/* For storages of pairs: storage.reads. */
extern const char *const pairs_reads[];

/* `name` is the data set's. Dies if there is no folder s->path. */
struct pairs *pairs_new(const struct dataset_source *s, const char *name);

/* The two names are copied. */
void pairs_add(struct pairs *p, const struct pair *pair);

/* Ends the program with the line of the first file that is not there; all have one. */
void pairs_check_files(const struct pairs *p);

/* Ends the program if half of the label maps are JPEGs by their names, with the first of
 * them. */
void pairs_check_lossy(const struct pairs *p);

#endif
