/* Scans the classes and files of DATA.DATASET folder. Private to src/dataset. */
#ifndef DATASET_FOLDER_H
#define DATASET_FOLDER_H

#include <time.h>

#include "dataset/class_files.h"

struct folder {
    struct class_files *files; /* paths are relative to its root */
    int64_t other;             /* number of files that are not images */
    const char *other_first;   /* one of them; stored in to->mem or to->text */

    struct folder_dir { /* all folders read, except the root */
        const char *path;
        struct timespec changed;
    } * dir;
    int64_t ndir;
    size_t dir_cap;
};

/* Finds the class folders, in byte order. */
void folder_find_classes(struct folder *f);

/* Finds all files, sorted by class, then by path in byte order. */
void folder_find_files(struct folder *f);

/* Logs a warning about the skipped files. */
void folder_warn_other(const struct folder *f);

#endif
