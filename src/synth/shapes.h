/*
 * Generated images of geometric shapes, for demonstrations and tests of classification:
 * one anti-aliased shape of random color, position, size, and angle over a random
 * gradient, with smaller blots and noise. An image is a pure function of its arguments.
 */
#ifndef SYNTH_SHAPES_H
#define SYNTH_SHAPES_H

#include <stdint.h>

enum { SYNTH_SHAPES = 16, SYNTH_SIZE_MIN = 8, SYNTH_SIZE_MAX = 512 };

const char *synth_shape_name(int shape); /* Returns "circle" or another name; shape in
                                          * [0, SYNTH_SHAPES) */

struct synth_image {
    uint64_t seed;
    uint32_t split;  /* different splits have different images */
    uint32_t number; /* within split and shape */
    int shape;
    int size; /* pixels per side, SYNTH_SIZE_MIN to SYNTH_SIZE_MAX */
};

/* Fills rgb: size * size * 3 bytes, row by row. */
void synth_shapes_draw(const struct synth_image *p, uint8_t *rgb);

#endif
