/*
 * Our own 3 x 3 convolutions of stride 1 in fp32 by Winograd's minimal filtering
 * F(2 x 2, 3 x 3): Lavin and Gray 2016, Fast Algorithms for Convolutional Neural
 * Networks, section 4.1. A tile of 2 x 2 results reads 4 x 4 pixels of x; both sides are
 * transformed to 16 numbers, and a result is their products, summed over the channels and
 * transformed back: 16 multiplications for 36. So a convolution is 16 products of
 * matrices, tiles x inputs by inputs x outputs. The weight gradient is the adjoint: 16
 * products of outputs x tiles by tiles x inputs.
 *
 * Images are NHWC fp32. Deterministic for a given number of threads. The transforms add
 * and halve: results differ from those of plain sums by a few units in the last place of
 * the largest, as their order does. A NaN or an infinity in x, or in dy, makes a NaN of
 * all results of its tile.
 *
 *   conv_winograd.c        forward and data gradient, and their weights
 *   conv_winograd_tiles.c  tiles and where they lie
 *   conv_winograd_grad.c   the weight gradient
 */
#ifndef CPU_CONV_WINOGRAD_H
#define CPU_CONV_WINOGRAD_H

#include "cpu/conv_loops.h"
#include "cpu/conv_window.h"

enum {
    WINOGRAD_SIDE = 4,    /* pixels of x that a tile reads, each way */
    WINOGRAD_OUT = 2,     /* its results, each way */
    WINOGRAD_PLANES = 16, /* its products */
    WINOGRAD_TAPS = 9,
    WINOGRAD_MOST = 12 * GEMM_ROWS, /* tiles of a block */
};

/* The tiles of all images, cut into blocks that are transformed and multiplied at a time.
 */
struct winograd_tiles {
    int rows, cols; /* of an image */
    int64_t all;
    int most; /* of a block */
};

struct winograd_tiles winograd_tiles(const struct conv_shape *s, int threads);

/*
 * Transforms `n` tiles from tile `lo` on of an image of s->h x s->w pixels of `all`
 * channels; only the `channels` from `image` on. X reads 4 x 4 pixels, DY 2 x 2, zeros
 * outside. Plane p of the result is to[p * plane]; there a tile's numbers lie in panels
 * (16 of X, 8 of DY, `panel` apart), and the next tile's `next` numbers on.
 */
struct winograd_planes {
    float *at;
    int64_t plane, panel, next;
};

void winograd_transform(const struct device *dev, enum winograd t,
                        const struct conv_shape *s, const struct winograd_tiles *w,
                        const float *image, int all, int channels, int64_t lo, int n,
                        const struct winograd_planes *to);
/* The other way: planes of products to 2 x 2 pixels of y, as far as they are inside. */
void winograd_results(const struct device *dev, const struct conv_shape *s,
                      const struct winograd_tiles *w, float *y, int64_t lo, int n,
                      const struct winograd_planes *from);

/* The share of one product in bringing near the rows that n tiles from `lo` on are in. */
struct gemm_ahead winograd_ahead(const struct conv_shape *s,
                                 const struct winograd_tiles *w, const float *image,
                                 int channels, int64_t lo, int n, int plane);

size_t winograd_weight_grad_scratch(const struct conv_shape *s, int threads);
void winograd_weight_grad(const struct device *dev, const struct conv_shape *s,
                          const void *x, const void *dy, float *dw, float *db,
                          void *scratch);

#endif
