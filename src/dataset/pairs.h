/*
 * Samples with two files, an image and its label map: shared by the storages of label
 * maps. Private to src/dataset.
 */
#ifndef DATASET_PAIRS_H
#define DATASET_PAIRS_H

#include "base/arena.h"
#include "dataset/table.h"

struct pairs {
    struct dataset base;
    struct pair {
        const char *image, *label; /* below the root, or absolute; in `mem` */
        int line, label_line;      /* lines in list files; 0: no list */
    } * pair;
    size_t cap;
    struct arena mem;
    char *root;
    int fd;                              /* open root directory */
    const char *image_list, *label_list; /* for messages: "train.txt", or NULL */
};

/* storage.reads of storages of pairs. */
extern const char *const pairs_reads[];

/* `name` is the data set's. Ends the program if the folder s->path cannot be opened. */
struct pairs *pairs_new(const struct dataset_source *s, const char *name);

/* Copies both names. */
void pairs_add(struct pairs *p, const struct pair *pair);

/* Ends the program, naming the list's line, if a file is missing. Requires that all
 * samples have lines. */
void pairs_check_files(const struct pairs *p);

/* Ends the program if at least half of the label maps have names of lossy formats. */
void pairs_check_lossy(const struct pairs *p);

#endif
