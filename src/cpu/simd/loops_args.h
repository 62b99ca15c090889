/* Argument structs of the loops in loops.h that have many arguments. */
#ifndef CPU_SIMD_LOOPS_ARGS_H
#define CPU_SIMD_LOOPS_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "cpu/simd/loop_activation.h"
#include "graph/tensor.h"
#include "ops/resample_taps.h"

/* Returns the index in a table of a loop over t of the value for element i of a row. */
static inline int64_t loops_place(enum dtype t, int lanes, int64_t i)
{
    int64_t in = i % (2 * lanes);

    return t == DTYPE_BF16 ? i - in + in % 2 * lanes + in / 2 : i;
}

/* y = act((x - mean) scale + shift [+ residual]), for `n` elements. */
enum bn_residual { BN_RESIDUAL_NONE, BN_RESIDUAL_TENSOR, BN_RESIDUAL_BN, BN_RESIDUALS };
struct bn_apply {
    enum dtype t;
    int64_t n, width;
    const void *x, *r;
    void *y;
    const float *mean, *scale, *shift;
    /* of the residual, if it is a batch norm, too */
    const float *r_mean, *r_scale, *r_shift;
    enum bn_residual residual;
    struct loop_activation act;
    bool streamed;
};

/*
 * dz = (g + g2) times the slope of act; sum += dz; dot += dz (x - mean); dx = dz a -
 * (x - mean) c - d. The slope follows from the batch norm's result (x - mean) scale +
 * shift, or from y, which is what the gradient of act reads.
 */
enum bn_slope { BN_SLOPE_NONE, BN_SLOPE_X, BN_SLOPE_Y, BN_SLOPES };
struct bn_grad {
    enum dtype t;
    int64_t n, width;
    const void *x, *y, *g, *g2; /* g2 may be NULL */
    void *dz, *dx;              /* dz may be NULL */
    const float *mean, *scale, *shift;
    const float *a, *c, *d;
    float *sum, *dot;
    enum bn_slope slope;
    struct loop_activation act;
    bool streamed; /* dz and dx */
    bool uncached;
    /* elements between the end of this part and the next part of the sums */
    int64_t jump;
};

/*
 * Square windows over images of c channels, channels last. The smaller image may be some
 * channels of a wider one with `pitch` channels; its pointer is to the first of them.
 */
enum { POOL_COVERS = 64 }; /* maximum number of windows that cover a pixel */
struct pool {
    enum dtype t;
    int64_t c, pitch, in_h, in_w, out_h, out_w;
    int64_t kernel, stride, pad;
    int64_t ring; /* maxpool_grad: rows of windows that share a row of the image */
    bool streamed;
};

/* Images of c channels, channels last, of which rows and then columns are combined. */
struct resample_rows {
    enum dtype t;
    int64_t c, in_h, in_w;
    const struct resample_taps *rows, *columns;
    bool streamed;
};

/* The inputs of the mask of ops/dropout_formula.h. */
struct dropout_key {
    uint64_t seed, micro;
    uint32_t salt;
    float rate;
    int64_t later; /* element i belongs to block i / 4 + later */
};

/* Pixels with logits for up to 256 classes, and a label. */
struct pixel_loss {
    enum dtype t, dt; /* of z and dz */
    int64_t classes;
    const void *z;
    const uint8_t *label;
    const float *weight; /* [256], per label; 0: its pixels are ignored */
    void *dz;
    float scale;
};

/*
 * Rows of pixels of x, `in` floats each, times [in][padded] weights plus a bias give rows
 * of `row` floats of y. padded: row rounded up to 32.
 */
enum { UP_INPUTS = 64, UP_ROW = 128 };
struct conv_up {
    enum dtype t;
    int64_t in, row, padded;
    const float *weights, *bias; /* [padded] */
};

/*
 * Weights in blocks, as oneDNN wants them, from fp32 [out][taps][in]. Strides are
 * elements of `dst` between blocks. Elements beyond out and in become 0. A block is
 *   transposed [i][block_o], in bf16 [i / 2][block_o][2]; block_o is a multiple of 16
 *   straight  [16 o][16 i], in bf16 [8 o][16 i][2 o]
 */
struct pack {
    enum dtype t;
    bool transposed;
    const float *src;
    void *dst; /* aligned to 64 bytes */
    int64_t out, in, out_padded, in_padded, taps, kernel_w;
    int64_t block_o, block_i, stride_o, stride_i, stride_h, stride_w;
};

/* Rows of bytes: `inner` from `left` to `right`, `outer` elsewhere. */
struct splice {
    const char *outer, *inner;
    char *y;
    int64_t rows, row, left, right;
    bool streamed; /* only if `row` is a multiple of 64 */
};

#endif
