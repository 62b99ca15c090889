/*
 * Both sides of the weight gradient's tiles: x transposed into lines of positions, dy in
 * pairs of positions.
 */
#ifndef CPU_CONV_AMX_SIDES_H
#define CPU_CONV_AMX_SIDES_H

#include <stddef.h>
#include <stdint.h>

/*
 * Transposes 16 or 32 channels of at most 32 pixels, `step` elements apart, to
 * to[channel][pixel], with lines of `line` elements. An odd `count` is padded with a
 * zero.
 */
void amx_transpose(const uint16_t *x, ptrdiff_t step, int count, int channels,
                   uint16_t *dst, ptrdiff_t line);

/* Iterates over the positions of a band of dy; columns from `cols` to `pitch` have no
 * results. */
struct amx_places {
    const uint16_t *next; /* the row's next pixel */
    int rows, cols, pitch, col;
    ptrdiff_t step;
};

/*
 * Writes `channels` of the next `count` positions as pairs: to[channel / 16][position /
 * 2][16][2], panels of 16 channels, `panel` elements apart. Zeros where there is no
 * result.
 */
void amx_pair_up(struct amx_places *src, int count, int channels, uint16_t *dst,
                 ptrdiff_t panel);

#endif
