/*
 * What the references of avgpool2d and maxpool2d share: the size of the result and the
 * walk over its elements.
 */
#ifndef OPS_POOL2D_H
#define OPS_POOL2D_H

#include <stdbool.h>

#include "graph/kernel.h"

struct pool2d {
    int kernel, stride, padding;
    bool ceil;
};

/* Gives `y` the size of x under the windows; NULL, or why they do not fit. */
const char *pool2d_shape(const struct pool2d *p, const struct tensor *x,
                         struct tensor *y);

/* Is `y` of that size, for an image of h x w? */
bool pool2d_fits(const struct pool2d *p, int64_t h, int64_t w, const struct tensor *y);

/* out[0][at] = value(s, at) for each at = {n, c, h, w} of out[0]. */
void pool2d_each(const struct step *s,
                 float (*value)(const struct step *s, const int64_t at[4]));

#endif
