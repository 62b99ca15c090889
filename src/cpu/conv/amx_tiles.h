/*
 * Shared by amx*.c: the shapes of tiles, their configuration, and 16 by 16 transposes.
 *
 * Tiles 0 to 3 are sums, 4 and 5 the left side (16 positions, or channels, by `depth`
 * summed values), 6 and 7 the right side (pairs of summed values by 16 channels).
 */
#ifndef CPU_CONV_AMX_TILES_H
#define CPU_CONV_AMX_TILES_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu/conv/conv.h"
#include "cpu/tiles.h"

#define ISA                                                                              \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16,amx-tile,amx-bf16")))
#define INLINE ISA static inline __attribute__((always_inline))

enum {
    LANES = TILE_ROWS,
    TILE = LANES * LANES, /* sums of a tile */
    LINE = TILE_LINE,
    DEPTH = TILE_DEPTH,
};

/* Channels are multiples of 16; multiples of 32 fill a row of a tile. */
static inline int depth_of(int channels)
{
    return channels % DEPTH ? DEPTH / 2 : DEPTH;
}

static inline size_t align64(size_t n)
{
    return (n + 63) / 64 * 64;
}

/* Configures the tiles of the calling thread until tiles_end(). */
INLINE void tiles_begin(int depth)
{
    struct tile_shapes shapes = tile_shapes(depth);

    tiles_written(); /* gcc assumes that only its first bytes are read */
    tile_config(&shapes);
}

INLINE void tiles_end(void)
{
    tile_release();
}

/* Zeros the four sums. */
INLINE void sums_zero(void)
{
    tile_zero(0);
    tile_zero(1);
    tile_zero(2);
    tile_zero(3);
}

INLINE void sums_load(float sum[4][TILE])
{
    tile_load(0, sum[0], LINE);
    tile_load(1, sum[1], LINE);
    tile_load(2, sum[2], LINE);
    tile_load(3, sum[3], LINE);
}

INLINE void sums_store(float sum[4][TILE])
{
    tile_store(0, sum[0], LINE);
    tile_store(1, sum[1], LINE);
    tile_store(2, sum[2], LINE);
    tile_store(3, sum[3], LINE);
}

/* v[i] lane j becomes v[j] lane i. */
INLINE void transpose16(__m512i v[LANES])
{
    __m512i t[LANES];

#pragma GCC unroll 8
    for (int i = 0; i < LANES; i += 2) {
        t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < LANES; i += 4) {
        v[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        v[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        v[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        v[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    /* 4 by 4 blocks are in the 128-bit lanes: transpose those */
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        t[i] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0xdd);
        t[i + 8] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0xdd);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        v[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
        v[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
        v[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
        v[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
    }
}

#endif
