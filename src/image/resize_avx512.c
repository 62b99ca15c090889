/*
 * The passes of resize.c with AVX-512 and VNNI (vpdpwssd adds two products to a sum).
 *
 * Horizontal: a register holds 16 bytes (five pixels) of each of four rows. They are
 * spread twice, so that each 32-bit lane holds one channel of two neighboring pixels,
 *
 *   r0 r1  g0 g1  b0 b1  0 0      and      r2 r3  g2 g3  b2 b3  0 0
 *
 * and are multiplied by the weights w0 w1 and w2 w3, the same in all lanes. Each row
 * stays in its quarter of the register, so nothing is added across.
 *
 * Vertical: 64 bytes of two rows are interleaved and widened to 16 bits.
 */
#include "image/resize_pass.h"

#include "base/error.h"

#ifdef __x86_64__

#include <immintrin.h>
#include <string.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

/* Sums of products with both parts of the weights. */
struct resize_sum {
    __m512i high, low;
};

/* Two weights in every 32-bit lane. */
AVX512 static inline __m512i resize_pair(const int16_t *w)
{
    int pair;

    memcpy(&pair, w, sizeof(pair));
    return _mm512_set1_epi32(pair);
}

AVX512 static inline void resize_add(struct resize_sum *acc, __m512i pixels,
                                     const struct resize_sum *w)
{
    acc->high = _mm512_dpwssd_epi32(acc->high, pixels, w->high);
    acc->low = _mm512_dpwssd_epi32(acc->low, pixels, w->low);
}

/* Combines both parts, rounds, and removes the fractional bits. */
AVX512 static inline __m512i resize_round(const struct resize_sum *s)
{
    __m512i sum = _mm512_add_epi32(_mm512_slli_epi32(s->high, RESIZE_LOW), s->low);
    __m512i half = _mm512_set1_epi32(1 << (RESIZE_BITS - 1));

    return _mm512_srai_epi32(_mm512_add_epi32(sum, half), RESIZE_BITS);
}

/* Loads 16 bytes of each of four rows. */
AVX512 static inline __m512i resize_load4(const uint8_t *p, size_t step)
{
    __m256i low = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)p));
    __m256i high =
        _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(p + 2 * step)));

    low = _mm256_inserti128_si256(low, _mm_loadu_si128((const __m128i *)(p + step)), 1);
    high = _mm256_inserti128_si256(high, _mm_loadu_si128((const __m128i *)(p + 3 * step)),
                                   1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* Stores three bytes to each of four rows, followed by one byte of garbage. */
AVX512 static inline void resize_store4(uint8_t *dst, size_t stride,
                                        const struct resize_sum *acc)
{
    __m512i sum = _mm512_max_epi32(resize_round(acc), _mm512_setzero_si512());
    __m128i rgb = _mm512_cvtusepi32_epi8(sum);
    int row[4];

    _mm_storeu_si128((__m128i *)row, rgb);
    for (size_t k = 0; k < 4; k++)
        memcpy(dst + k * stride, &row[k], sizeof(row[k]));
}

/* The four weights from k on, in pairs. */
struct resize_four {
    struct resize_sum first, second;
};

AVX512 static inline struct resize_four resize_weights4(const struct resize_table *t,
                                                        size_t k)
{
    struct resize_four w = {{resize_pair(t->high + k), resize_pair(t->low + k)},
                            {resize_pair(t->high + k + 2), resize_pair(t->low + k + 2)}};

    return w;
}

/* Processes eight rows, so that each weight is loaded once. */
AVX512 static void resize_rows8(const struct resize_table *t, const struct resize_rows *r)
{
    const char z = (char)0x80; /* selects 0 */
    const __m512i one = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, z, 3, z, 1, z, 4, z, 2, z, 5, z, z, z, z, z));
    const __m512i two = _mm512_broadcast_i32x4(
        _mm_setr_epi8(6, z, 9, z, 7, z, 10, z, 8, z, 11, z, z, z, z, z));
    size_t step = r->src_stride, out = r->dst_stride;

    for (int x = 0; x < t->n; x++) {
        size_t pos = (size_t)x * (size_t)t->stride;
        const uint8_t *p = r->src + (size_t)t->first[x] * 3;
        uint8_t *dst = r->dst + (size_t)x * 3;
        struct resize_sum a = {_mm512_setzero_si512(), _mm512_setzero_si512()}, b = a;

        /* the next eight rows, which mostly come from memory */
        __builtin_prefetch(p + (8 + (size_t)x % 8) * step);
        for (int k = 0; k < t->taps; k += RESIZE_GROUP, p += 3 * RESIZE_GROUP) {
            struct resize_four w = resize_weights4(t, pos + (size_t)k);
            __m512i up = resize_load4(p, step), down = resize_load4(p + 4 * step, step);

            resize_add(&a, _mm512_shuffle_epi8(up, one), &w.first);
            resize_add(&b, _mm512_shuffle_epi8(down, one), &w.first);
            resize_add(&a, _mm512_shuffle_epi8(up, two), &w.second);
            resize_add(&b, _mm512_shuffle_epi8(down, two), &w.second);
        }
        resize_store4(dst, out, &a);
        resize_store4(dst + 4 * out, out, &b);
    }
}

void resize_horizontal_avx512(const struct resize_table *t, const struct resize_rows *r)
{
    struct resize_rows rest = *r;

    for (; rest.rows >= 8; rest.rows -= 8) {
        resize_rows8(t, &rest);
        rest.src += 8 * r->src_stride;
        rest.dst += 8 * r->dst_stride;
    }
    resize_horizontal_avx2(t, &rest);
}

/* Computes 64 columns of one output row. */
AVX512 static inline void resize_columns64(const int16_t *high, const int16_t *low,
                                           const uint8_t *const *row, int taps,
                                           size_t pos, uint8_t *dst)
{
    const __m512i zero = _mm512_setzero_si512();
    struct resize_sum a0 = {zero, zero}, a1 = a0, a2 = a0, a3 = a0;
    __m512i first, second;

    for (int k = 0; k < taps; k += 2) {
        __m512i p = _mm512_loadu_si512(row[k] + pos);
        __m512i q = _mm512_loadu_si512(row[k + 1] + pos);
        __m512i lo = _mm512_unpacklo_epi8(p, q), hi = _mm512_unpackhi_epi8(p, q);
        struct resize_sum w = {resize_pair(high + k), resize_pair(low + k)};

        resize_add(&a0, _mm512_unpacklo_epi8(lo, zero), &w);
        resize_add(&a1, _mm512_unpackhi_epi8(lo, zero), &w);
        resize_add(&a2, _mm512_unpacklo_epi8(hi, zero), &w);
        resize_add(&a3, _mm512_unpackhi_epi8(hi, zero), &w);
    }
    first = _mm512_packs_epi32(resize_round(&a0), resize_round(&a1));
    second = _mm512_packs_epi32(resize_round(&a2), resize_round(&a3));
    _mm512_storeu_si512(dst + pos, _mm512_packus_epi16(first, second));
}

AVX512 void resize_vertical_avx512(const int16_t *high, const int16_t *low,
                                   const uint8_t *const *row, int taps, uint8_t *dst,
                                   int len)
{
    int pos = 0;

    if (len < 64) {
        resize_vertical_avx2(high, low, row, taps, dst, len);
        return;
    }
    for (; pos + 64 <= len; pos += 64)
        resize_columns64(high, low, row, taps, (size_t)pos, dst);
    if (pos < len) /* the last block overlaps */
        resize_columns64(high, low, row, taps, (size_t)len - 64, dst);
}

#else

void resize_horizontal_avx512(const struct resize_table *t, const struct resize_rows *r)
{
    (void)t, (void)r;
    BUG("AVX-512 on a machine without it");
}

void resize_vertical_avx512(const int16_t *high, const int16_t *low,
                            const uint8_t *const *row, int taps, uint8_t *dst, int len)
{
    (void)high, (void)low, (void)row, (void)taps, (void)dst, (void)len;
    BUG("AVX-512 on a machine without it");
}

#endif
