#include "cpu/conv/amx_sums.h"

ISA void amx_multiply_2x2(const struct amx_blocks *b, float sum[4][TILE], bool first)
{
    const ptrdiff_t bytes = b->line * 2;

    if (first)
        sums_zero();
    else
        sums_load(sum);
    for (int i = 0; i < b->steps; i++) {
        const ptrdiff_t pos = (ptrdiff_t)i * DEPTH, pair = pos * LANES;

        tile_load(6, b->right[0] + pair, LINE);
        tile_load(4, b->left[0] + pos, bytes);
        tile_multiply(0, 4, 6);
        tile_load(7, b->right[1] + pair, LINE);
        tile_multiply(1, 4, 7);
        tile_load(5, b->left[1] + pos, bytes);
        tile_multiply(2, 5, 6);
        tile_multiply(3, 5, 7);
    }
    sums_store(sum);
}

ISA void amx_multiply_4x1(const struct amx_blocks *b, float sum[4][TILE], bool first)
{
    const ptrdiff_t bytes = b->line * 2;

    if (first)
        sums_zero();
    else
        sums_load(sum);
    for (int i = 0; i < b->steps; i++) {
        const ptrdiff_t pos = (ptrdiff_t)i * DEPTH;

        tile_load(6, b->right[0] + pos * LANES, LINE);
        tile_load(4, b->left[0] + pos, bytes);
        tile_multiply(0, 4, 6);
        tile_load(5, b->left[1] + pos, bytes);
        tile_multiply(1, 5, 6);
        tile_load(4, b->left[2] + pos, bytes);
        tile_multiply(2, 4, 6);
        tile_load(5, b->left[3] + pos, bytes);
        tile_multiply(3, 5, 6);
    }
    sums_store(sum);
}

ISA void amx_multiply_ones(const uint16_t *right, int steps, float *sum, bool first)
{
    uint32_t ones[TILE] __attribute__((aligned(64)));

    for (int i = 0; i < TILE; i++)
        ones[i] = 0x3f803f80; /* two bf16 ones */
    tiles_written();
    tile_load(4, ones, LINE);
    if (first)
        tile_zero(0);
    else
        tile_load(0, sum, LINE);
    for (int i = 0; i < steps; i++) {
        tile_load(6, right + (ptrdiff_t)i * DEPTH * LANES, LINE);
        tile_multiply(0, 4, 6);
    }
    tile_store(0, sum, LINE);
}

ISA void amx_put(float *dst, ptrdiff_t row, int n, const float *sum, int parts,
                 size_t next, bool streamed)
{
    __mmask16 some = (__mmask16)(n < LANES ? (1u << n) - 1 : 0xffffu);
    __m512i v[LANES];

    for (int i = 0; i < LANES; i++) {
        const char *cursor = (const char *)(sum + (ptrdiff_t)i * LANES);
        __m512 all = _mm512_loadu_ps(cursor);

        for (int t = 1; t < parts; t++)
            all = _mm512_add_ps(all, _mm512_loadu_ps(cursor + (size_t)t * next));
        v[i] = (__m512i)all;
    }
    transpose16(v);
    if (streamed && n == LANES && (uintptr_t)dst % LINE == 0 && row % LANES == 0) {
        for (int i = 0; i < LANES; i++)
            _mm512_stream_ps(dst + i * row, (__m512)v[i]);
        return;
    }
    for (int i = 0; i < LANES; i++)
        _mm512_mask_storeu_ps(dst + i * row, some, (__m512)v[i]);
}
