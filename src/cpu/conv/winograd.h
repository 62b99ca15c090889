/*
 * Our own convolutions of stride 1 in fp32 by Winograd's minimal filtering: Lavin and
 * Gray 2016, Fast Algorithms for Convolutional Neural Networks, section 4.1.
 *
 *   3 x 3          F(2 x 2, 3 x 3): a tile of 2 x 2 results reads 4 x 4 pixels of x. Tile
 *                  and weights are transformed to 16 values each, which are multiplied one
 *                  by one, summed over the channels and transformed back: 16
 *                  multiplications for 36. So it is 16 GEMMs, tiles x inputs by inputs x
 *                  outputs, one for each of the 16 values (a plane).
 *   3 x 1, 1 x 3   F(2, 3), the same along one line: 4 multiplications for 6. With a
 *                  dilation d a tile's results and pixels lie d apart.
 *
 * The weight gradient is the adjoint: as many GEMMs, outputs x tiles by tiles x inputs.
 *
 * Images are NHWC fp32. Deterministic for a given number of threads. The transforms add
 * and divide by 2; the results are about as far from exact sums as plain fp32 sums are
 * (docs/dev/performance.md). A weight whose gradient is a sum of zeros, as after a relu that
 * is off wherever dy is not, may get a rounding error of its neighbours' gradient instead
 * of 0, of which an optimizer that divides by the size of the gradient makes whole steps:
 * a graph that keeps zeros takes other loops. A tap that only
 * meets border gets exactly 0. A NaN reaches the results that read it, and in the weight
 * gradient all taps of its channels; an infinity may become one.
 *
 *   winograd.c        forward and data gradient, and their weights
 *   winograd_tiles.c  tiles and where they lie
 *   winograd_grad.c   the weight gradient
 */
#ifndef CPU_CONV_WINOGRAD_H
#define CPU_CONV_WINOGRAD_H

#include "cpu/conv/conv.h"

enum {
    WINOGRAD_PLANES = 16, /* at most */
    WINOGRAD_TAPS = 9,
    WINOGRAD_MOST = 12 * GEMM_ROWS, /* tiles of a block */
};

/* Tiles in one direction of an image: of 2 results that read 4 pixels, or single ones. */
struct winograd_axis {
    int tiles, dilation;
    int reads, results; /* of a tile: 4 and 2, or 1 and 1 */
};

/* All tiles, cut into blocks that are transformed and multiplied at a time. */
struct winograd_tiles {
    struct winograd_axis y, x;
    int planes, taps;
    int64_t all;
    int most; /* of a block */
};

struct winograd_tiles winograd_tiles(const struct conv_shape *s, int threads);

/*
 * Where values of a block lie: plane p, tile i, channel c of X (16 a panel) at
 * at[p * plane + i * next + c / 16 * panel + c % 16].
 */
struct winograd_planes {
    float *at;
    int64_t plane, panel, next;
};

/*
 * Transforms tiles [lo, lo + n) of images of `all` channels, the `channels` from `image`
 * on: X, or DY (8 a panel). What lies outside of the image is 0.
 */
void winograd_block(const struct device *dev, enum winograd t, const struct conv_shape *s,
                    const struct winograd_tiles *w, const float *image, int all,
                    int channels, int64_t lo, int n, const struct winograd_planes *to);
/* The other way: what the GEMMs of a block made is transformed to results, on which `a`
 * says what is done before they are stored. */
void winograd_results(const struct device *dev, const struct conv_shape *s,
                      const struct winograd_tiles *w, const struct conv_args *a,
                      int64_t lo, int n, const struct winograd_planes *from);
/* db += dy of tiles [lo, lo + n), of the `channels` from dy on */
void winograd_bias(const struct device *dev, const struct conv_shape *s,
                   const struct winograd_tiles *w, const float *dy, int channels,
                   int64_t lo, int n, float *db);

/* What the GEMM of one plane prefetches of the pixels that n tiles from `lo` on read. */
struct gemm_prefetch winograd_prefetch(const struct conv_shape *s,
                                       const struct winograd_tiles *w, const float *image,
                                       int channels, int64_t lo, int n, int plane);

size_t winograd_weight_grad_scratch(const struct conv_shape *s, int threads);
void winograd_weight_grad(const struct device *dev, const struct conv_shape *s,
                          const void *x, const void *dy, float *dw, float *db,
                          void *scratch);

#endif
