/* The geometry of one sample of a transform: its crop, its resize, and its mirroring. */
#ifndef IMAGE_TRANSFORM_PLAN_H
#define IMAGE_TRANSFORM_PLAN_H

#include "image/transform.h"

/* The two axes of the resize and the position of the result in dst. */
struct transform_plan {
    struct resize_axis x, y;
    int dst_x, dst_y;
    enum resize_filter filter;
    bool flip;
    bool mirrored; /* the caller mirrors the result */
};

/* Computes the size to which TRANSFORM_CENTER resizes a w x h image. */
void transform_center_size(const struct transform *t, int w, int h, int *rw, int *rh);

/* Plans a sample of a w x h image. Not for TRANSFORM_PAD_CROP. */
void transform_plan(const struct transform *t, const struct augment_key *k, int w, int h,
                    struct transform_plan *p);

/* Shrinks the plan if possible; returns the part of the w x h image that it reads. */
struct image_part transform_part(const struct transform *t, bool can_shrink,
                                 struct transform_plan *p, int w, int h);

#endif
