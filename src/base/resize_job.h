/*
 * Deferred resizing: the loader passes on source pixels and the description of the resize
 * to the op resize (ops/resize.h).
 */
#ifndef BASE_RESIZE_JOB_H
#define BASE_RESIZE_JOB_H

#include "base/resize_formula.h"

/*
 * The resize of one image, whose pixels are stored row after row in resize_place() bytes.
 * All zero: the pixels are already the result.
 */
struct resize_job {
    struct resize_axis x, y;
    int32_t src_x, src_y, src_w, src_h; /* the part of the image that the pixels show */
    int32_t dst_x, dst_y;               /* position in the result; 0 around it */
    int32_t filter;
    int32_t flip;   /* mirrored left to right */
    int32_t resize; /* 0: no resize */
};

enum {
    RESIZE_TAPS = 32, /* maximum taps of an output */
    RESIZE_ROWS = 4   /* maximum source rows / result rows */
};

/* Returns the bytes reserved per image, for results of w x h pixels. */
HOST_DEVICE static inline int64_t resize_place(int w, int h, int channels)
{
    return (int64_t)4 * w * h * channels;
}

/* True if the op can do it; otherwise the loader does it. */
static inline bool resize_fits(const struct resize_job *j, int w, int h, int channels)
{
    double x = (j->x.end - j->x.begin) / j->x.out, y = (j->y.end - j->y.begin) / j->y.out;
    double max = x > y ? x : y, support = resize_support(j->filter);

    return 2 * support * (max > 1 ? max : 1) + 2 <= (double)RESIZE_TAPS &&
           j->src_h <= RESIZE_ROWS * h &&
           (int64_t)j->src_w * j->src_h * channels <= resize_place(w, h, channels);
}

#endif
