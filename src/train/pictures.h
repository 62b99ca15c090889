/*
 * What a segmentation looks like: the first images of the validation split, each beside
 * its truth and its prediction, as PNG files in a folder and as TensorBoard images.
 */
#ifndef TRAIN_PICTURES_H
#define TRAIN_PICTURES_H

#include "io/tensorboard.h"
#include "train/feed.h"
#include "train/step.h"

struct pictures {
    const char *dir; /* PREFIX_0.png, PREFIX_1.png, ...; made if it is not there */
    const char *prefix;
    int n;
    struct tensorboard *events; /* val/picture_0, ...; NULL: none */
    int64_t step;
};

/*
 * Runs the inference graph, and spoils the metrics of an evaluation under way. Returns
 * how many files were written; why others were not is in the log.
 */
int pictures_write(const struct pictures *p, struct session *s, const struct feed *f);

#endif
