/*
 * What the references of avgpool2d, maxpool2d and maxpool2d_places share: the size of the
 * result, the walk over its elements and, of the latter two, which value of a window wins.
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

/*
 * Where in x, of t's dims, the winner of window at = {n, c, h, w} lies: the first of equal
 * values, the last NaN. *place: row * kernel + column of it within the window.
 */
int64_t pool2d_winner(const struct pool2d *p, const struct tensor *t, const float *x,
                      const int64_t at[4], int *place);

/*
 * The sum of dy, the input `dy` of the step, over the windows that x[at] wins; place(s,
 * window) is that of a window's winner.
 */
float pool2d_won(const struct pool2d *p, const struct step *s, int dy,
                 int (*place)(const struct step *s, const int64_t window[4]),
                 const int64_t at[4]);

#endif
