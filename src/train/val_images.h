/*
 * What a segmentation looks like: the first images of the validation split, each beside
 * its label map and its prediction, as PNG files in a folder and as TensorBoard images.
 */
#ifndef TRAIN_VAL_IMAGES_H
#define TRAIN_VAL_IMAGES_H

#include "io/tensorboard.h"
#include "session/session.h"
#include "train/feed.h"

struct val_images {
    /* PREFIX_0.png, PREFIX_1.png, ...; made if it is not there. Those of before go. */
    const char *dir;
    const char *prefix;
    int n;
    struct tensorboard *events; /* val/image_0, ...; NULL: none */
    int64_t step;
};

/*
 * Runs the inference graph, and spoils the metrics of an evaluation under way. Returns
 * how many files were written; why others were not is in the log.
 */
int val_images_write(const struct val_images *p, struct session *s, const struct feed *f);

char *val_images_of_epoch(int64_t epoch); /* the prefix, a heap string */

/* Removes those of this epoch and later ones: a run that lies there is done again. */
void val_images_drop(const char *dir, int64_t epoch);

#endif
