/*
 * Shared by the references of avgpool2d, maxpool2d, and maxpool2d_places: the size of the
 * result, the loop over its elements, and for the latter two the maximum of a window.
 */
#ifndef OPS_POOL2D_H
#define OPS_POOL2D_H

#include <stdbool.h>

#include "graph/kernel.h"

struct pool2d {
    int kernel, stride, padding;
    bool ceil;
};

/* Sets the size of `y` for x under the windows; returns NULL, or why they do not fit. */
const char *pool2d_shape(const struct pool2d *p, const struct tensor *x,
                         struct tensor *y);

/* True if `y` has that size for an image of h x w. */
bool pool2d_fits(const struct pool2d *p, int64_t h, int64_t w, const struct tensor *y);

/* Sets out[0][at] = value(s, at) for each at = {n, c, h, w} of out[0]. */
void pool2d_each(const struct step *s,
                 float (*value)(const struct step *s, const int64_t at[4]));

/*
 * Returns the offset in x, of t's dims, of the maximum of window at = {n, c, h, w}: the
 * first of equal values, the last NaN. *place: its row * kernel + column within the
 * window.
 */
int64_t pool2d_winner(const struct pool2d *p, const struct tensor *t, const float *x,
                      const int64_t at[4], int *place);

/*
 * Returns the sum of dy (the step's input `dy`) over the windows whose maximum is x[at];
 * place(s, window) returns the position of a window's maximum.
 */
float pool2d_won(const struct pool2d *p, const struct step *s, int dy,
                 int (*place)(const struct step *s, const int64_t window[4]),
                 const int64_t at[4]);

#endif
