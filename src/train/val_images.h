/*
 * Writes the first images of the validation split, each next to its label map and its
 * predicted segmentation, as PNG files in a folder and as TensorBoard images.
 */
#ifndef TRAIN_VAL_IMAGES_H
#define TRAIN_VAL_IMAGES_H

#include "io/tensorboard.h"
#include "session/session.h"
#include "train/feed.h"

struct val_images {
    /* Folder for PREFIX_0.png, PREFIX_1.png, ...; created if missing. Existing images
     * with the same prefix are deleted. */
    const char *dir;
    const char *prefix;
    int n;
    struct tensorboard *events; /* for val/image_0, ...; may be NULL */
    int64_t step;
};

/*
 * Runs the inference graph, which overwrites the metrics of a running evaluation. Returns
 * the number of files written; warns about files that cannot be written.
 */
int val_images_write(const struct val_images *p, struct session *s, const struct feed *f);

char *val_images_of_epoch(int64_t epoch); /* Returns the prefix; the caller frees it. */

/* Deletes the images of this and later epochs, which a run repeats. */
void val_images_drop(const char *dir, int64_t epoch);

#endif
