/*
 * A convolution's tensors, made up, and what plain loops make of them in double
 * precision.
 */
#ifndef TESTS_CPU_CONV_DATA_H
#define TESTS_CPU_CONV_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "cpu/conv/conv.h"

/* An image or a vector that ends where a page ends that nobody may touch. */
struct buffer {
    unsigned char *p, *map;
    size_t size, mapped;
};

struct buffer buffer_new(size_t size);
void buffer_free(struct buffer *b); /* nothing in front of it was touched */

struct conv_data {
    struct conv_shape s;
    int64_t nx, ny, nw;
    struct buffer x, y, mask, w, bias, packed, scratch, dx, dw, db;
    double *want_y, *want_dx, *want_dw, *want_db;
};

struct conv_data conv_data_new(const struct conv_shape *s);
void conv_data_free(struct conv_data *d);

/* Number i of p */
double conv_get(const void *p, enum dtype t, int64_t i);

#endif
