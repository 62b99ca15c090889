/*
 * Separable, antialiased resizing: Pillow's algorithm (python-pillow/Pillow,
 * src/libImaging/Resample.c), horizontal pass first, its result rounded to 8 bits.
 * (Pillow 13 takes the vertical pass first where the height shrinks much more than the
 * width; we follow the versions before it, which published weights were trained with.)
 *
 * Taps and weights are those of base/resize_formula.h.
 *
 * A part of the outputs has exactly the pixels that it has among all of them.
 *
 * Weights have 22 fractional bits, as Pillow's have, so that results are Pillow's to the
 * byte. They are kept in two parts of 16 bits, w = 2^11 high + low with low in [0, 2^11),
 * and the products of each part are summed apart: modulo 2^32, which is enough, as the
 * total fits. The code for AVX-512, for AVX2 and in plain C gives the same bytes.
 */
#ifndef IMAGE_RESIZE_H
#define IMAGE_RESIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/resize_formula.h"
#include "image/image.h"

/* The axis that maps all of [from, to) to `out` pixels with no tap outside. */
struct resize_axis resize_axis_all(int from, int to, int out);

/* Owns tables and the intermediate image; one per thread, reused. {0} is a
 * valid one. */
struct resizer {
    struct resize_table {
        int *first;          /* first tap of each output */
        int16_t *high, *low; /* `stride` of them per output, zeros after the last tap */
        size_t cap;
        int n, taps, stride;
    } x, y;
    struct image mid; /* after the horizontal pass */
    double *scratch;  /* weights before they are rounded */
    size_t scratch_cap;
    const uint8_t **row; /* of mid: those that an output row takes */
    int row_cap;
};

void resizer_release(struct resizer *r);

struct resize_target {
    uint8_t *pixel;
    size_t stride; /* bytes from row to row */
    bool flip;     /* mirrored left to right */
};

/* Writes x->n by y->n pixels. `src` must cover the spans of both axes; its x and y say
 * where it lies. */
void resize(struct resizer *r, const struct image *src, const struct resize_axis *x,
            const struct resize_axis *y, enum resize_filter f,
            const struct resize_target *to);

/* Which passes there are: the best that the processor has is taken. */
enum resize_passes { RESIZE_C, RESIZE_AVX2, RESIZE_AVX512 };

/* For tests: none better than these, from before any thread resizes. */
void resize_limit_passes(enum resize_passes most);

#endif
