/* A max pool whose result, or its gradient, may be some channels of a wider tensor. */
#ifndef CUDA_MAXPOOL2D_H
#define CUDA_MAXPOOL2D_H

#include "cuda/device.h"
#include "ops/maxpool2d.h"

struct maxpool {
    int images, packs, in_h, in_w, out_h, out_w; /* packs: of channels */
    int pitch;                                   /* packs between pixels of y */
    int kernel, stride, pad;
    unsigned in_blocks, out_blocks; /* per image */
    int64_t unit;                   /* argument of WITH_PACK */
    int64_t skip;                   /* elements of y before the first */
};

/* The channels of y start at channel `start` of `whole` (which may be y itself). */
struct maxpool maxpool_of(const struct pool2d_attrs *a, const struct tensor *x,
                          const struct tensor *y, const struct tensor *whole,
                          int64_t start);

/* Runs on dev->stream; y: start of `whole`. */
void cuda_maxpool(struct device *dev, const struct maxpool *p, enum dtype t,
                  const void *x, void *y);

#endif
