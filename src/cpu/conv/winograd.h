/*
 * Our own convolutions of stride 1 by Winograd's minimal filtering: Lavin and Gray
 * 2016, Fast Algorithms for Convolutional Neural Networks, section 4.1.
 *
 *   3 x 3          F(2 x 2, 3 x 3): a tile of 2 x 2 results reads 4 x 4 pixels of x. Tile
 *                  and weights are transformed to 16 values each, which are multiplied
 *                  elementwise, summed over the channels, and transformed back: 16
 *                  multiplications instead of 36. So it is 16 GEMMs, tiles x inputs by
 *                  inputs x outputs, one for each of the 16 values (a plane).
 *   3 x 1, 1 x 3   F(2, 3), the same along one line: 4 multiplications instead of 6. With
 *                  a dilation d, a tile's results and pixels are d apart.
 *
 * The weight gradient is the adjoint: the same number of GEMMs, outputs x tiles by tiles
 * x inputs.
 *
 * Images are NHWC, fp32, or bf16 where fp32 is faster (struct conv_shape, widen): only the
 * pixels are bf16 then. Deterministic for a given number of threads. The transforms add
 * and divide by 2; the results are about as accurate as plain fp32 sums
 * (docs/dev/performance.md). If a weight's gradient is a sum of zeros, as after a relu
 * that is off wherever dy is not, it may become a rounding error of its neighbors'
 * gradients instead of 0; an optimizer that divides by the size of the gradient turns
 * that into a full step. So a graph that keeps zeros uses other loops. A tap that only
 * meets the border gets exactly 0. A NaN reaches the results that read it and, in the
 * weight gradient, all taps of its channels; an infinity may become a NaN.
 *
 *   winograd.c        forward and data gradient, and their weights
 *   winograd_tiles.c  tiles and their positions
 *   winograd_grad.c   the weight gradient
 */
#ifndef CPU_CONV_WINOGRAD_H
#define CPU_CONV_WINOGRAD_H

#include "cpu/conv/conv.h"

enum {
    WINOGRAD_PLANES = 16, /* at most */
    WINOGRAD_TAPS = 9,
    WINOGRAD_MAX = 12 * GEMM_ROWS, /* tiles per block */
};

/* Tiles along one axis of an image: of 2 results that read 4 pixels, or single ones. */
struct winograd_axis {
    int tiles, dilation;
    int reads, results; /* per tile: 4 and 2, or 1 and 1 */
};

/* All tiles, split into blocks that are transformed and multiplied at a time. */
struct winograd_tiles {
    struct winograd_axis y, x;
    int planes, taps;
    int64_t total;
    int block; /* per block */
};

struct winograd_tiles winograd_tiles(const struct conv_shape *s, int threads);

/*
 * Layout of a block's values: plane p, tile i, channel c of X (16 per panel) are at data[p
 * * plane + i * next + c / 16 * panel + c % 16].
 */
struct winograd_planes {
    float *data;
    int64_t plane, panel, next;
};

/*
 * Transforms tiles [lo, lo + n) of images of `all` channels, `channels` of them from
 * `image` on: X, or DY (8 per panel). Pixels outside the image are 0.
 */
void winograd_block(const struct device *dev, enum winograd t, const struct conv_shape *s,
                    const struct winograd_tiles *w, const void *image, int all,
                    int channels, int64_t lo, int n, const struct winograd_planes *dst);
/* Transforms the GEMM results of a block back and applies the epilogue of `a`. */
void winograd_results(const struct device *dev, const struct conv_shape *s,
                      const struct winograd_tiles *w, const struct conv_args *a,
                      int64_t lo, int n, const struct winograd_planes *src);
/* db += dy of tiles [lo, lo + n), of the `channels` from dy on */
void winograd_bias(const struct device *dev, const struct conv_shape *s,
                   const struct winograd_tiles *w, const void *dy, int channels,
                   int64_t lo, int n, float *db);

/* Prefetch by the GEMM of one plane of the pixels that n tiles from `lo` on read. */
struct gemm_prefetch winograd_prefetch(const struct conv_shape *s,
                                       const struct winograd_tiles *w, const void *image,
                                       int channels, int64_t lo, int n, int plane);

size_t winograd_weight_grad_scratch(const struct conv_shape *s, int threads);
void winograd_weight_grad(const struct device *dev, const struct conv_shape *s,
                          const void *x, const void *dy, float *dw, float *db,
                          void *scratch);

#endif
