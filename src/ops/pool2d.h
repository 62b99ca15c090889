/*
 * What maxpool2d and avgpool2d have in common: attributes, windows, and the loop of the
 * references over the elements of a result.
 *
 * Windows are PyTorch's: of MaxPool2d and AvgPool2d, or, with out_h and out_w, those of
 * AdaptiveMaxPool2d and AdaptiveAvgPool2d, where window o of an axis is
 * [floor(o in / out), ceil((o + 1) in / out)).
 */
#ifndef OPS_POOL2D_H
#define OPS_POOL2D_H

#include <stdbool.h>

#include "graph/kernel.h"
#include "ops/resample_taps.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The builders resolve the short members into those of the two directions, which kernels
 * read. In a node, kernel, stride, and padding are those of windows that are the same in
 * both directions; otherwise, and in an adaptive pool, kernel is 0.
 */
struct pool2d_attrs {
    const char *layer;
    int kernel, stride, padding; /* stride 0: kernel */
    int kernel_h, kernel_w, stride_h, stride_w;
    int pad_h, pad_w;      /* at most half of the kernel */
    int ceil_mode;         /* 1: the last window may extend beyond the end */
    int count_include_pad; /* avgpool2d: 1: the mean counts padding as zeros */
    int out_h, out_w; /* adaptive: size of the result; kernel, stride, and padding 0 */
    int in_h, in_w;   /* set by the builder: H and W of x */
};

extern const struct attr pool2d_attr_table[];

struct pool2d_attrs pool2d_resolve(const struct pool2d_attrs *a, const struct tensor *x);

/* Sets the size of `y` for x under the windows; returns NULL, or why they do not fit. */
const char *pool2d_shape(const struct pool2d_attrs *a, const struct tensor *x,
                         struct tensor *y);

/* True if `y` has that size for an image of a->in_h x a->in_w. */
bool pool2d_fits(const struct pool2d_attrs *a, const struct tensor *y);

/* The elements of all windows of y. */
int64_t pool2d_flops(const struct pool2d_attrs *a, const struct tensor *y);

/* Gets the positions [*first, *end) of x that window o of an axis (IMAGE_H or IMAGE_W)
 * covers. Returns by how many a mean of them is divided. */
int64_t pool2d_span(const struct pool2d_attrs *a, int axis, int64_t o, int64_t *first,
                    int64_t *end);

/* The windows of an axis as taps, weighted for the mean. Release them. */
struct resample_taps pool2d_taps(const struct pool2d_attrs *a, int axis);

/* Sets out[0][at] = value(s, at) for each at = {n, c, h, w} of out[0]. */
void pool2d_each(const struct step *s,
                 float (*value)(const struct step *s, const int64_t ptr[4]));

/*
 * Returns the offset in x, of t's dims, of the maximum of window at = {n, c, h, w}: the
 * first of equal values, the last NaN. *place: its row * kernel_w + column within the
 * window (adaptive: in_w instead of kernel_w).
 */
int64_t pool2d_winner(const struct pool2d_attrs *a, const struct tensor *t,
                      const float *x, const int64_t ptr[4], int *place);

/*
 * Returns the sum of dy (the step's input `dy`) over the windows whose maximum is x[at];
 * place(s, window) returns the position of a window's maximum.
 */
float pool2d_won(const struct pool2d_attrs *a, const struct step *s, int dy,
                 int (*place)(const struct step *s, const int64_t window[4]),
                 const int64_t ptr[4]);

#ifdef __cplusplus
}
#endif

#endif
