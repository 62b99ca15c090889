/*
 * Separable, antialiased resizing: Pillow's algorithm (python-pillow/Pillow,
 * src/libImaging/Resample.c), horizontal pass first, its result rounded to 8 bits.
 * (Pillow 13 runs the vertical pass first if the height shrinks much more than the width;
 * we follow the versions before it, with which published weights were trained.)
 *
 * base/resize_formula.h defines taps and weights.
 *
 * A window of the outputs has exactly the pixels that it has in the whole result.
 *
 * Weights have 22 fractional bits, as in Pillow, so that results match Pillow to the
 * byte. They are stored in two parts of 16 bits, w = 2^11 high + low with low in [0,
 * 2^11), and the products of each part are summed separately, modulo 2^32, which is exact
 * because the total fits. The code for AVX-512, AVX2, and plain C gives the same bytes.
 */
#ifndef IMAGE_RESIZE_H
#define IMAGE_RESIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/resize_formula.h"
#include "image/image.h"

/* Returns the axis that maps all of [from, to) to `out` pixels without taps outside. */
struct resize_axis resize_axis_all(int begin, int end, int out);

/* Owns tables and the intermediate image; one per thread, reused. Initialize to {0}. */
struct resizer {
    struct resize_table {
        int *first;          /* first tap of each output */
        int16_t *high, *low; /* `stride` weights per output, zeros after the last tap */
        size_t cap;
        int n, taps, stride;
    } x, y;
    struct image mid; /* after the horizontal pass */
    double *scratch;  /* weights before rounding */
    size_t scratch_cap;
    const uint8_t **row; /* rows of mid that one output row reads */
    int row_cap;
};

void resizer_release(struct resizer *r);

struct resize_target {
    uint8_t *pixel;
    size_t stride; /* bytes from row to row */
    bool flip;     /* mirrored left to right */
};

/* Writes x->n by y->n pixels. `src` must cover the spans of both axes; its x and y give
 * its position. */
void resize(struct resizer *r, const struct image *src, const struct resize_axis *x,
            const struct resize_axis *y, enum resize_filter f,
            const struct resize_target *dst);

/* Versions of the passes; the best that the processor supports is used. */
enum resize_passes { RESIZE_C, RESIZE_AVX2, RESIZE_AVX512 };

/* For tests: limits the version, before any thread resizes. */
void resize_limit_passes(enum resize_passes limit);

#endif
