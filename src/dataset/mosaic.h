/*
 * Mosaics of images with label maps: each quarter of a sample comes from another image of
 * the data set. A quarter is the same part of that image's own sample, so images are
 * augmented before they are put together.
 */
#ifndef DATASET_MOSAIC_H
#define DATASET_MOSAIC_H

#include "image/transform.h"

enum { MOSAIC_QUARTERS = 4 };

struct mosaic {
    int x, y; /* where the quarters meet, from a quarter to three quarters of the sides */
    int self; /* the quarter of the sample itself: 0 to 3, row by row */
    struct augment_key key[MOSAIC_QUARTERS]; /* of the image in each quarter */
};

/* Draws a mosaic from a data set of n images. Returns false if the sample is not a
 * mosaic. x and y are multiples of t->label_divisor. */
bool mosaic_draw(struct mosaic *m, const struct augment_key *k, double probability,
                 const struct transform *t, int64_t n);

/* Copies a quarter of pixels and of labels from one sample to another. */
void mosaic_copy(const struct mosaic *m, int quarter, const struct transform *t,
                 const uint8_t *pixel, const uint8_t *label, uint8_t *to_pixel,
                 uint8_t *to_label);

#endif
