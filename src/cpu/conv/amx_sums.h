/*
 * The weight gradient's multiply: four tiles of sums over positions, and where they go. A
 * tile of sums is [16 rows of the left side][16 channels of dy].
 */
#ifndef CPU_CONV_AMX_SUMS_H
#define CPU_CONV_AMX_SUMS_H

#include <stdbool.h>

#include "cpu/conv/amx_tiles.h"

struct amx_blocks {
    const uint16_t *left[4];  /* lines of 16 channels, from the tap on */
    const uint16_t *right[2]; /* pairs of 16 channels */
    ptrdiff_t line;           /* elements from a line to the next */
    int steps;                /* of 32 positions */
};

/* sum[2 i + j] += left i times right j; `first`: it begins at zero. */
void amx_multiply_2x2(const struct amx_blocks *b, float sum[4][TILE], bool first);
/* sum[i] += left i times right 0 */
void amx_multiply_4x1(const struct amx_blocks *b, float sum[4][TILE], bool first);
/* sum += a left side of ones: all of its rows are the bias's gradient. */
void amx_multiply_ones(const uint16_t *right, int steps, float *sum, bool first);

/*
 * to[channel of dy][n of 16 rows], `row` elements apart: the tile transposed, and added
 * over `parts` that lie `next` bytes apart. streamed: large, nobody would find it in the
 * cache.
 */
void amx_put(float *to, ptrdiff_t row, int n, const float *sum, int parts, size_t next,
             bool streamed);

#endif
