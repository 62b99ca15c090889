/*
 * Both sides of the weight gradient's tiles: x transposed into lines of positions, dy in
 * pairs of positions.
 */
#ifndef CPU_CONV_AMX_SIDES_H
#define CPU_CONV_AMX_SIDES_H

#include <stddef.h>
#include <stdint.h>

/*
 * 16 or 32 channels of at most 32 pixels, `step` elements apart, as lines:
 * to[channel][pixel], `line` elements apart. An odd `count` is made even by a zero.
 */
void amx_turn(const uint16_t *x, ptrdiff_t step, int count, int channels, uint16_t *to,
              ptrdiff_t line);

/* Pixels of a band of dy, position after position: from `cols` to `pitch` lie
 * no results. */
struct amx_places {
    const uint16_t *next; /* the row's next pixel */
    int rows, cols, pitch, col;
    ptrdiff_t step;
};

/*
 * `channels` of the next `count` positions, as pairs: to[channel / 16][position /
 * 2][16][2], panels of 16 channels `panel` elements apart. Zeros where no result lies.
 */
void amx_pair_up(struct amx_places *from, int count, int channels, uint16_t *to,
                 ptrdiff_t panel);

#endif
