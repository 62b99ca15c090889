/*
 * Arguments of the loops of depthwise convolutions (depthwise.inc). They process a block of
 * 2 LANES channels, and read rows of pixels that depthwise_pixels copied: 2 LANES floats
 * per pixel, in the order of loops_place(). `c` is the number of channels of the block, at
 * most 2 LANES; weights and sums always have 2 LANES.
 */
#ifndef CPU_SIMD_DEPTHWISE_ARGS_H
#define CPU_SIMD_DEPTHWISE_ARGS_H

#include <stdint.h>

#include "cpu/simd/loop_activation.h"
#include "graph/tensor.h"

enum { DEPTHWISE_TILE = 7 }; /* pixels, or taps, whose sums are in registers */

/* Copies a row of pixels. `readable`: elements of the tensor from x on. */
struct depthwise_pixels {
    enum dtype t;
    const void *x;
    int64_t pixels, c, readable;
    int64_t next;  /* elements between pixels of x */
    int64_t ahead; /* elements to what is prefetched */
    float *dst;
};

/* What a tap reads for the first result, and its weights. */
struct depthwise_tap {
    const float *x, *w;
};

/* y[i] = act(bias + sum over taps of x[i] w) for a row of results, 0 where relu_mask <= 0 */
struct depthwise_row {
    enum dtype t;
    int64_t cols, c;
    int taps;
    const struct depthwise_tap *tap;
    const float *bias; /* 2 LANES, or NULL */
    struct loop_activation act;
    void *y;
    const void *relu_mask; /* like y, or NULL */
    int64_t y_next;        /* elements between results */
};

/* What a tap reads for the first pixel of dy, and where its sums are. */
struct depthwise_sum {
    const float *x;
    float *sums;
};

/* tap[i].sums += sum over the row of x[tap][i step] dy[i]; db += sum of dy. */
struct depthwise_sums {
    int64_t cols;
    int step, taps;
    const struct depthwise_sum *tap;
    const float *dy;
    float *db; /* or NULL */
};

#endif
