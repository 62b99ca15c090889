/* A max pool whose result, or its gradient, is some channels of a wider tensor. */
#ifndef CUDA_MAXPOOL2D_H
#define CUDA_MAXPOOL2D_H

#include "cuda/device.h"
#include "ops/maxpool2d.h"

struct maxpool {
    int images, packs, in_h, in_w, out_h, out_w; /* packs of channels */
    int pitch;                                   /* packs from pixel to pixel of y */
    int kernel, stride, pad;
    unsigned in_blocks, out_blocks; /* of one image */
    int64_t unit;                   /* what WITH_PACK is asked with */
    int64_t skip;                   /* elements of y in front of the first */
};

/* y's channels begin with channel `from` of `whole` (which may be y itself). */
struct maxpool maxpool_of(const struct maxpool2d_attrs *a, const struct tensor *x,
                          const struct tensor *y, const struct tensor *whole,
                          int64_t from);

/* On dev->stream; y: where `whole` starts. */
void cuda_maxpool(struct device *dev, const struct maxpool *p, enum dtype t,
                  const void *x, void *y);

#endif
