/*
 * Boundary IoU (Cheng et al. 2021, 2103.16562): the IoU of the inner borders of masks. The
 * border of a mask is what an erosion with a 3 x 3 square removes in `width` steps: its
 * pixels with another pixel, or the edge of the image, at a Chebyshev distance of at most
 * `width`, which is round(ratio * diagonal of the image), at least 1.
 *
 *   boundary_iou_k  |border of the labels k and border of the predictions k| / |either|
 *
 * with both counts summed over the images, as those of the IoU. Ignored pixels belong to no
 * mask, neither of the labels nor of the predictions: where a prediction is right wherever
 * it counts, its Boundary IoU is 1.
 */
#ifndef TRAIN_BOUNDARY_H
#define TRAIN_BOUNDARY_H

#include <stdint.h>

#include "image/label.h"

struct boundary {
    double ratio;
    int classes;
    /* Border pixels of the labels, of the predictions, and of both, by class. */
    int64_t label[LABEL_CLASSES], guess[LABEL_CLASSES], both[LABEL_CLASSES];
    uint8_t *scratch; /* of boundary_add */
    int64_t cap;
};

/* ratio: the width of the borders as a share of the diagonal. */
struct boundary *boundary_new(double ratio, int classes);
void boundary_free(struct boundary *b); /* `b` may be NULL. */

/* Returns the width of borders in pixels. */
int boundary_width(double ratio, int w, int h);

/* Adds an image of w x h pixels: its labels, LABEL_IGNORE where they do not count, and the
 * predicted classes. */
void boundary_add(struct boundary *b, const uint8_t *label, const uint8_t *guess, int w,
                  int h);

/* Sums the counts of all processes, which all call it. */
void boundary_gather(struct boundary *b);

/* Returns the Boundary IoU of a class; NaN if it has no border pixel in the labels. */
double boundary_iou(const struct boundary *b, int class);

#endif
