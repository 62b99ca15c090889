/*
 * The classes and files of DATA.DATASET folder, while they are looked for. Private to
 * src/dataset.
 */
#ifndef DATASET_FOLDER_H
#define DATASET_FOLDER_H

#include <time.h>

#include "dataset/class_files.h"

struct folder {
    struct class_files *to;  /* paths are below its root */
    int64_t other;           /* files that are not images */
    const char *other_first; /* one of them; in to->mem or to->text */

    struct folder_dir { /* each that was read but the root itself */
        const char *path;
        struct timespec changed;
    } * dir;
    int64_t ndir;
    size_t dir_cap;
};

/* The class folders, in byte order. */
void folder_find_classes(struct folder *f);

/* All files, class by class in byte order of their paths. */
void folder_find_files(struct folder *f);

/* Tells the log of the files that are left out. */
void folder_warn_other(const struct folder *f);

#endif
