/*
 * Where the images of a table lie: the folder that has most of the first rows' images, of
 * the usual ones next to the table or, if none has any, of all. Private to src/dataset.
 */
#ifndef DATASET_CSV_IMAGES_H
#define DATASET_CSV_IMAGES_H

#include "dataset/text_table.h"

struct csv_images {
    const struct text_table *table;
    int column;         /* of images: paths or names, with or without an extension */
    const char *dir;    /* of the table */
    const char *split;  /* a folder that may have them */
    const char *folder; /* the only one, below `dir`; empty or NULL: any */
};

/* The folder, a heap string; *ending is what the names lack: ".jpg", or "". NULL: no folder
 * has any of the images. */
char *csv_images_find(const struct csv_images *c, const char **ending);

#endif
