#include "cpu/conv/amx_sides.h"

#include "cpu/conv/amx_tiles.h"

enum { FETCH = 4096 /* prefetch distance of dy in bytes */ };

/* v[i]: channels 0 to 31 of pixel i, as 16 pairs; zeros from pixel `count` on. */
INLINE void load_pixels(const uint16_t *x, ptrdiff_t step, int count, __m512i v[LANES])
{
    for (int i = 0; i < LANES; i++)
        v[i] = i < count ? _mm512_loadu_si512(x + i * step) : _mm512_setzero_si512();
}

/* v[i]: channels 0 to 15 of pixel i, then those of pixel i + 16. */
INLINE void load_half_pixels(const uint16_t *x, ptrdiff_t step, int count,
                             __m512i v[LANES])
{
    for (int i = 0; i < LANES; i++) {
        __m256i low = _mm256_setzero_si256(), high = low;

        if (i < count)
            low = _mm256_loadu_si256((const __m256i *)(x + i * step));
        if (i + LANES < count)
            high = _mm256_loadu_si256((const __m256i *)(x + (i + LANES) * step));
        v[i] = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    }
}

/* Mask of the first `count` of 32 pixels, rounded up to even. */
INLINE __mmask32 even_mask(int count)
{
    return count < DEPTH - 1 ? (1u << (count + (count & 1))) - 1 : 0xffffffff;
}

/* Makes two lines of pixels from pairs of channels: low has pixels 0 to 15, high 16 to 31. */
INLINE void store_lines(__m512i low, __m512i high, uint16_t *dst, ptrdiff_t line,
                        __mmask32 mask)
{
    const __m512i even =
        _mm512_set_epi16(62, 60, 58, 56, 54, 52, 50, 48, 46, 44, 42, 40, 38, 36, 34, 32,
                         30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i odd = _mm512_add_epi16(even, _mm512_set1_epi16(1));

    _mm512_mask_storeu_epi16(dst, mask, _mm512_permutex2var_epi16(low, even, high));
    _mm512_mask_storeu_epi16(dst + line, mask, _mm512_permutex2var_epi16(low, odd, high));
}

/*
 * Transposes 32 channels of at most 32 pixels, `step` elements apart, to lines:
 * to[channel][pixel]. An odd `count` is padded with a zero.
 */
ISA static void transpose_32(const uint16_t *x, ptrdiff_t step, int count, uint16_t *dst,
                             ptrdiff_t line)
{
    __m512i low[LANES], high[LANES];
    __mmask32 mask = even_mask(count);

    load_pixels(x, step, count, low);
    transpose16(low);
    load_pixels(x + LANES * step, step, count - LANES, high);
    transpose16(high);
    for (int c = 0; c < LANES; c++)
        store_lines(low[c], high[c], dst + 2 * c * line, line, mask);
}

/* Does the same for 16 channels. */
ISA static void transpose_16(const uint16_t *x, ptrdiff_t step, int count, uint16_t *dst,
                             ptrdiff_t line)
{
    __m512i v[LANES];
    __mmask32 mask = even_mask(count);

    load_half_pixels(x, step, count, v);
    transpose16(v);
    for (int c = 0; c < LANES / 2; c++)
        store_lines(v[c], v[c + LANES / 2], dst + 2 * c * line, line, mask);
}

void amx_transpose(const uint16_t *x, ptrdiff_t step, int count, int channels,
                   uint16_t *dst, ptrdiff_t line)
{
    (channels == DEPTH ? transpose_32 : transpose_16)(x, step, count, dst, line);
}

static const uint16_t *next_place(struct amx_places *p)
{
    const uint16_t *ptr = NULL;

    if (!p->rows)
        return NULL;
    if (p->col < p->cols) {
        ptr = p->next;
        p->next += p->step;
    }
    if (++p->col == p->pitch) {
        p->col = 0;
        p->rows--;
    }
    return ptr;
}

ISA void amx_pair_up(struct amx_places *src, int count, int channels, uint16_t *dst,
                     ptrdiff_t panel)
{
    /* alternates words of a and b, for channels 0 to 15 and 16 to 31 */
    const __m512i first =
        _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39,
                         7, 38, 6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
    const __m512i second = _mm512_add_epi16(first, _mm512_set1_epi16(LANES));

    for (int i = 0; i < count; i += 2, dst += 2 * LANES) {
        const uint16_t *a = next_place(src), *b = next_place(src);

        for (int c = 0; c < channels; c += 2 * LANES) {
            __mmask32 m = c + LANES < channels ? 0xffffffff : 0xffff;
            __m512i va = a ? _mm512_maskz_loadu_epi16(m, a + c) : _mm512_setzero_si512();
            __m512i vb = b ? _mm512_maskz_loadu_epi16(m, b + c) : _mm512_setzero_si512();
            uint16_t *ptr = dst + c / LANES * panel;

            if (a)
                _mm_prefetch((const char *)(a + c) + FETCH, _MM_HINT_T0);
            if (b)
                _mm_prefetch((const char *)(b + c) + FETCH, _MM_HINT_T0);
            _mm512_storeu_si512(ptr, _mm512_permutex2var_epi16(va, first, vb));
            if (c + LANES < channels)
                _mm512_storeu_si512(ptr + panel,
                                    _mm512_permutex2var_epi16(va, second, vb));
        }
    }
}
