/*
 * The weight gradient's multiply: four tiles of sums over positions, and their
 * destinations. A tile of sums is [16 rows of the left side][16 channels of dy].
 */
#ifndef CPU_CONV_AMX_SUMS_H
#define CPU_CONV_AMX_SUMS_H

#include <stdbool.h>

#include "cpu/conv/amx_tiles.h"

struct amx_blocks {
    const uint16_t *left[4];  /* lines of 16 channels, starting at the tap */
    const uint16_t *right[2]; /* pairs of 16 channels */
    ptrdiff_t line;           /* elements between lines */
    int steps;                /* of 32 positions */
};

/* sum[2 i + j] += left i times right j; `first`: starts at zero. */
void amx_multiply_2x2(const struct amx_blocks *b, float sum[4][TILE], bool first);
/* sum[i] += left i times right 0 */
void amx_multiply_4x1(const struct amx_blocks *b, float sum[4][TILE], bool first);
/* sum += a left side of ones: each row becomes the bias gradient. */
void amx_multiply_ones(const uint16_t *right, int steps, float *sum, bool first);

/*
 * to[channel of dy][n of 16 rows], `row` elements apart: the transposed tile, summed over
 * `parts` that are `next` bytes apart. streamed: too large to stay in the cache.
 */
void amx_put(float *dst, ptrdiff_t row, int n, const float *sum, int parts, size_t next,
             bool streamed);

#endif
