/*
 * AMX tile instructions (cpu/amx.h), for loops compiled with them: eight tiles, named by
 * constants from 0 to 7, of up to 16 rows of 64 bytes.
 *
 *   tile_config(&shapes)       first, on each thread; tile_release() last
 *   tile_zero(t)
 *   tile_load(t, from, stride), tile_store(t, to, stride)    rows `stride` bytes apart
 *   tile_multiply(sum, left, right)
 *
 * tile_multiply is TDPBF16PS: sum[m][n] += left[m][2k] right[k][2n] + left[m][2k + 1]
 * right[k][2n + 1] over all k, of bf16 with sums in fp32; subnormals count as zero.
 *
 * The compiler does not know what a tile load reads: call tiles_written() between
 * ordinary stores and the load.
 *
 * Objects compiled with TILES_MODEL call the plain C of tests/tiles/model.c instead, so
 * that the loops are tested on processors without tiles.
 */
#ifndef CPU_TILES_H
#define CPU_TILES_H

#include <stdint.h>

enum {
    TILE_ROWS = 16,
    TILE_LINE = 64,  /* bytes per row */
    TILE_DEPTH = 32, /* bf16 elements per row */
};

struct tile_shapes {
    uint8_t palette, start_row, zero[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} __attribute__((aligned(64)));

/* Tiles 0 to 3 are sums, 4 and 5 left sides of 16 rows by `depth` bf16, 6 and 7 right
 * sides of `depth` / 2 pairs by 16 columns. */
static inline struct tile_shapes tile_shapes(int depth)
{
    struct tile_shapes s = {.palette = 1};

    for (int i = 0; i < 8; i++) {
        s.row_bytes[i] = TILE_LINE;
        s.rows[i] = TILE_ROWS;
    }
    s.row_bytes[4] = s.row_bytes[5] = (uint16_t)(depth * 2);
    s.rows[6] = s.rows[7] = (uint8_t)(depth / 2);
    return s;
}

#ifdef TILES_MODEL
void tile_config(const struct tile_shapes *s);
void tile_release(void);
void tile_zero(int t);
void tile_load(int t, const void *src, int64_t stride);
void tile_store(int t, void *dst, int64_t stride);
void tile_multiply(int sum, int left, int right);
#else
#include <immintrin.h>
#define tile_config(shapes)             _tile_loadconfig(shapes)
#define tile_release()                  _tile_release()
#define tile_zero(t)                    _tile_zero(t)
#define tile_load(t, src, stride)       _tile_loadd(t, src, stride)
#define tile_store(t, dst, stride)      _tile_stored(t, dst, stride)
#define tile_multiply(sum, left, right) _tile_dpbf16ps(sum, left, right)
#endif

static inline __attribute__((always_inline)) void tiles_written(void)
{
    __asm__ volatile("" ::: "memory");
}

#endif
