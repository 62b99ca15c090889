/*
 * Depthwise convolutions (a filter for each channel) by our own loops, in fp32 and bf16:
 * the weight gradient, of which oneDNN 2.6 has fast code for 3 x 3 only (else it takes 2 to
 * 60 times as long); forward and data gradient with stride 1, with dilation (6 times), or on
 * a Xeon with AMX in bf16 with more taps than 3 x 3 (1.3 to 2 times). Elsewhere oneDNN is as
 * fast or faster.
 *
 * A thread computes consecutive rows, image by image, a block of 2 LANES channels at a time.
 * The rows that it reads are copied into a ring: fp32, whole vectors, and zeros to the
 * left and right of the image, so that the loops (cpu/simd/depthwise.inc) have neither
 * types nor edges, and find their input in the L1 cache.
 *
 * Images are NHWC. Deterministic for a given number of threads. Accumulation is fp32, in
 * the weight gradient per row and fp32 over a thread's rows, then fp64 over threads.
 * Pixels outside the image count as zero, so an infinite weight (in the weight gradient,
 * dy) gives NaN at the left and right edges.
 */
#ifndef CPU_CONV_DEPTHWISE_H
#define CPU_CONV_DEPTHWISE_H

#include "cpu/conv/conv.h"
#include "cpu/conv/window.h"

/* Copies of rows of an image of [n, h, w, c], for a block of channels. */
struct depthwise_rows {
    const struct device *dev;
    enum dtype t;
    const void *x;
    int64_t n, h, w, c;
    int left, right; /* pixels of zeros at the sides */
    int slots;       /* rows that are kept, at most CONV_TAPS */

    /* of depthwise_rows.c */
    float *floats;
    int64_t image, channel, uses;
    int64_t row[CONV_TAPS], used[CONV_TAPS]; /* of each slot: which row, or -1; when */
};

/* Floats that a table of c channels has at most, for any instruction set. */
static inline int depthwise_table(int c)
{
    return round_up(c, 32);
}

/* Rows of x or, if `result`, of y; before depthwise_ring_clear() they only have sizes. */
struct depthwise_rows depthwise_rows(const struct device *dev, const struct conv_shape *s,
                                     bool result, int slots);
/* Widens the sides to what the taps of v read. */
void depthwise_sides(struct depthwise_rows *r, const struct conv_window *v);
size_t depthwise_ring_floats(const struct depthwise_rows *r);
void depthwise_ring_clear(struct depthwise_rows *r, float *floats);
void depthwise_ring_start(struct depthwise_rows *r, int64_t image, int64_t channel);
/* Returns pixel 0 of a row of the image. The last `slots` rows stay. */
const float *depthwise_ring_row(struct depthwise_rows *r, int64_t row);

/*
 * Calls fn(arg, image, first row, end, channel) for what a thread computes of images with
 * `rows` rows of results: parts of an image, and of each the blocks of its channels.
 */
void depthwise_parts(const struct depthwise_rows *r, int64_t rows, int thread,
                     void (*fn)(void *arg, int64_t image, int row, int end, int channel),
                     void *arg);

/* In depthwise_grad.c; the rest of conv_depthwise (cpu/conv/conv.h) in depthwise.c. */
size_t depthwise_weight_grad_scratch(const struct conv_shape *s, int threads);
void depthwise_weight_grad(const struct device *dev, const struct conv_shape *s,
                           const void *x, const void *dy, float *dw, float *db,
                           void *scratch);

#endif
