/*
 * Arguments of the loops of our own convolutions (cpu/simd/loops.h): GEMMs (gemm.inc) and
 * Winograd's transforms (winograd.inc).
 */
#ifndef CPU_SIMD_GEMM_ARGS_H
#define CPU_SIMD_GEMM_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "cpu/simd/loop_activation.h"

/* Memory to prefetch during a GEMM; it may lie outside all tensors. */
struct gemm_prefetch {
    const void *start;
    int64_t bytes;
};

/* Epilogue of results before they are stored: + bias, + add, act, 0 by ReLU mask. */
struct conv_finish {
    const float *bias;                         /* per column, or NULL */
    const void *const *add, *const *relu_mask; /* rows as in y, or NULL */
    struct loop_activation act;
};

/*
 * y[i][j] (+)= sum over d of a[i][d] b[d][j]. Rows of y may be anywhere. b is in panels
 * of 32 columns: [cols / 32][depth][32], `b_panel` floats apart. cols is a multiple of
 * 16; multiples of GEMM_ROWS rows are fastest. With `pairs` each float of a and b holds
 * two bf16, for d and d + 1, whose products are both added, and y is bf16. With `half` a
 * and b are floats and y is bf16.
 */
enum { GEMM_PANEL = 32, GEMM_ROWS = 12 };
/* The 32-bit words of the operands: floats, pairs of bf16, or bf16 widened to floats. */
enum gemm_words { GEMM_FLOATS, GEMM_PAIRS, GEMM_WIDENED };
struct gemm_rows {
    int rows, cols;
    int64_t depth, a_row, b_panel;
    const float *a, *b;
    void *const *y;
    bool add, pairs, half;            /* one of them at most */
    const struct conv_finish *finish; /* NULL: no epilogue */
    struct gemm_prefetch prefetch[2];
};

/*
 * y[i][j] (+)= sum over d of a[d][i] b[d][j]. Both sides are in panels: a of 8 rows,
 * [rows / 8][depth][8], b of 16 columns, [cols / 16][depth][16], `a_panel` and `b_panel`
 * floats apart. Rows are a multiple of 8, columns of 16. With `pairs` each float holds
 * two bf16, for d and d + 1, whose products are both added.
 */
enum { GEMM_LEFT = 8, GEMM_RIGHT = 16 };
struct gemm_sums {
    int rows, cols;
    int64_t depth, a_panel, b_panel, y_row;
    const float *a, *b;
    float *y;
    bool add, pairs;
    struct gemm_prefetch prefetch[2];
};

/*
 * Transforms of Winograd's F(2 x 2, 3 x 3) (Lavin and Gray 2016, section 4.1), or of F(2,
 * 3), which is one line of it. src[] and dst[] are the values of a tile, row by row, for
 * n tiles and channels at once; n is a multiple of 16.
 */
enum winograd {
    WINOGRAD_X,  /* 4 x 4 pixels to 16:         B^T x B, 16 a panel */
    WINOGRAD_W,  /* 3 x 3 weights to 16:        G w G^T */
    WINOGRAD_Y,  /* 16 sums to 2 x 2 results:   A^T m A, then `finish` */
    WINOGRAD_DY, /* 2 x 2 gradients to 16:      A dy A^T, 8 a panel */
    WINOGRAD_DW, /* 16 sums to 3 x 3:           G^T m G */
};
struct winograd_values {
    bool line;       /* 4 to 4, 3 to 4, 4 to 2, ... */
    enum dtype type; /* of the image: what X and DY read, what Y writes */
    int64_t n, panel;
    const void *const *src;
    void *const *dst;
    struct conv_finish finish; /* epilogue of Y */
};

#endif
