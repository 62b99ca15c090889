/*
 * Images that are resized elsewhere: the loader leaves the pixels as they are and says
 * what is to be done to them, for the op resize (ops/resize.h).
 */
#ifndef BASE_RESIZE_JOB_H
#define BASE_RESIZE_JOB_H

#include "base/resize_formula.h"

/*
 * What is to be done to the pixels of one image, which lie row after row in resize_place() bytes.
 * All zero: nothing, they are the result.
 */
struct resize_job {
    struct resize_axis x, y;
    int32_t src_x, src_y, src_w, src_h; /* which part of the image the pixels are */
    int32_t dst_x, dst_y;               /* where in the result; 0 around it */
    int32_t filter;
    int32_t flip;   /* mirrored left to right */
    int32_t resize; /* 0: nothing */
};

enum { RESIZE_TAPS = 32, RESIZE_ROWS = 4 }; /* taps of an output; rows over those of the
                                             * result, at most */

/* Bytes of an image's place, for results of w x h pixels. */
HOST_DEVICE static inline int64_t resize_place(int w, int h, int channels)
{
    return (int64_t)4 * w * h * channels;
}

/* Can it be done there? Else it is done before. */
static inline bool resize_fits(const struct resize_job *j, int w, int h, int channels)
{
    double x = (j->x.to - j->x.from) / j->x.out, y = (j->y.to - j->y.from) / j->y.out;
    double most = x > y ? x : y, support = resize_support(j->filter);

    return 2 * support * (most > 1 ? most : 1) + 2 <= (double)RESIZE_TAPS &&
           j->src_h <= RESIZE_ROWS * h &&
           (int64_t)j->src_w * j->src_h * channels <= resize_place(w, h, channels);
}

#endif
