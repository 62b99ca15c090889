/*
 * How threads share the sums of a weight gradient, rows x columns. Small ones: each
 * thread has all of them, of its own results, and they are added in thread order. Large
 * ones: each has a rectangle of them, of all results, and nothing is added.
 */
#ifndef CPU_CONV_SHARE_H
#define CPU_CONV_SHARE_H

#include <stdbool.h>
#include <stddef.h>

struct conv_share {
    bool own;       /* each thread has all sums, of its results */
    int rows, cols; /* of a thread's sums, at most */
    int side;       /* threads side by side in the columns */
};

/* Shares `bytes`; rectangles are multiples of 16 rows and 32 columns, but for the
 * last. */
struct conv_share conv_share_of(int rows, int cols, size_t bytes, int threads);

struct conv_part {
    int row, rows, col, cols; /* no rows or no columns: the thread has nothing to do */
};

struct conv_part conv_share_part(const struct conv_share *h, int rows, int cols,
                                 int thread);

#endif
