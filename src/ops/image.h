/*
 * Offset of an element of an image or of a convolution's weights: logical n,c,h,w, stored
 * channels last. For reference kernels.
 */
#ifndef OPS_IMAGE_H
#define OPS_IMAGE_H

#include "graph/tensor.h"

enum { IMAGE_N, IMAGE_C, IMAGE_H, IMAGE_W }; /* the dims */
enum { WEIGHT_O, WEIGHT_I, WEIGHT_H, WEIGHT_W };

static inline int64_t image_at(const struct tensor *t, int64_t n, int64_t c, int64_t h,
                               int64_t w)
{
    return ((n * t->dim[IMAGE_H] + h) * t->dim[IMAGE_W] + w) * t->dim[IMAGE_C] + c;
}

static inline bool tensor_is_image(const struct tensor *t)
{
    return t->layout == LAYOUT_IMAGE;
}

/* Channels: dim 1 of an image, otherwise the last dim; always the innermost in memory. */
static inline int64_t tensor_channels(const struct tensor *t)
{
    return tensor_is_image(t) ? t->dim[IMAGE_C] : t->dim[t->ndim - 1];
}

static inline bool tensor_is_vector(const struct tensor *t, int64_t len)
{
    return t->ndim == 1 && t->dim[0] == len;
}

#endif
