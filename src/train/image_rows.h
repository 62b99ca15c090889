/*
 * A row of numbers for each image of an evaluation, such as its label and its
 * probabilities. With several ranks, each adds its own images, then all call
 * image_rows_gather().
 */
#ifndef TRAIN_IMAGE_ROWS_H
#define TRAIN_IMAGE_ROWS_H

#include <stdint.h>

struct image_rows {
    int width;      /* numbers per image */
    int64_t n, cap; /* number of images */
    int64_t *sample;
    float *value; /* [n, width] */
};

void image_rows_init(struct image_rows *r, int width);
void image_rows_release(struct image_rows *r); /* `r` may be {0}. */

/* Adds the image with index `sample` in the data set. Returns its row, which must be
 * filled before the next call. */
float *image_rows_add(struct image_rows *r, int64_t sample);

/* Gives every rank the rows of all ranks, in the order of the data set, which has `total`
 * images. */
void image_rows_gather(struct image_rows *r, int64_t total);

#endif
