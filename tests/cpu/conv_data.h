/*
 * A convolution's generated tensors, and reference results by plain loops in double.
 */
#ifndef TESTS_CPU_CONV_DATA_H
#define TESTS_CPU_CONV_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "cpu/conv/conv.h"

/* An image or a vector that ends right before an inaccessible page. */
struct buffer {
    unsigned char *p, *map;
    size_t size, mapped;
};

struct buffer buffer_new(size_t size);
void buffer_free(struct buffer *b); /* checks that nothing in front of it was written */

struct conv_data {
    struct conv_shape s;
    int64_t nx, ny, nw;
    struct buffer x, y, mask, w, bias, packed, scratch, dx, dw, db;
    double *want_y, *want_dx, *want_dw, *want_db;
};

struct conv_data conv_data_new(const struct conv_shape *s);
void conv_data_free(struct conv_data *d);

/* Returns element i of p. */
double conv_get(const void *p, enum dtype t, int64_t i);

#endif
