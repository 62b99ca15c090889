/*
 * A row of numbers for each image of an evaluation, such as its label and its
 * probabilities. With several ranks, each adds its images, and all call
 * image_rows_gather().
 */
#ifndef TRAIN_IMAGE_ROWS_H
#define TRAIN_IMAGE_ROWS_H

#include <stdint.h>

struct image_rows {
    int width;      /* numbers per image */
    int64_t n, cap; /* images */
    int64_t *sample;
    float *value; /* [n, width] */
};

void image_rows_init(struct image_rows *r, int width);
void image_rows_release(struct image_rows *r); /* {0} is fine */

/* Adds an image, by its index in the data set. Returns its row, to be filled before the
 * next call. */
float *image_rows_add(struct image_rows *r, int64_t sample);

/* Gives every rank the rows of all ranks, in the order of the data set, of `total`
 * images. */
void image_rows_gather(struct image_rows *r, int64_t total);

#endif
