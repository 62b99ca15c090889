/*
 * How threads split the sums of a weight gradient, rows x columns. Small ones: each
 * thread has all sums, over its own results, and they are added in thread order. Large
 * ones: each thread has a rectangle of the sums, over all results, and nothing is added.
 */
#ifndef CPU_CONV_SHARE_H
#define CPU_CONV_SHARE_H

#include <stdbool.h>
#include <stddef.h>

struct conv_share {
    bool by_result; /* each thread has all sums, over its results */
    int rows, cols; /* maximum size of a thread's sums */
    int side;       /* threads that split the columns */
};

/* bytes: size of all sums. Rectangles are multiples of 16 rows and 32 columns, except the
 * last. */
struct conv_share conv_share_of(int rows, int cols, size_t bytes, int threads);

struct conv_part {
    int row, rows, col, cols; /* rows or cols 0: the thread has no work */
};

struct conv_part conv_share_part(const struct conv_share *h, int rows, int cols,
                                 int thread);

#endif
