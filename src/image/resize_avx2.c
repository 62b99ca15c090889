/*
 * The passes of resize.c with AVX2 (vpmaddwd: two products and their sum in 32 bits).
 *
 * Horizontal: 16 bytes are five pixels; four of them are spread so that each 32-bit lane
 * holds one channel of two neighboring pixels as 16-bit integers:
 *
 *   low half:  r0 r1  g0 g1  b0 b1  0 0      high half: r2 r3  g2 g3  b2 b3  0 0
 *
 * and is multiplied by the weights w0 w1 in the low half and w2 w3 in the high half. Four
 * rows are processed together because they share their weights.
 *
 * Vertical: 32 bytes of two rows are interleaved and widened to 16 bits.
 */
#include "image/resize_pass.h"

#include "base/error.h"

#ifdef __x86_64__

#include <immintrin.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2")))

static const size_t resize_step = (size_t)3 * RESIZE_GROUP; /* bytes per step */

struct resize_shuffle {
    __m256i pixels, weights;
};

AVX2 static inline struct resize_shuffle resize_shuffles(void)
{
    const char z = (char)0x80; /* selects 0 */
    struct resize_shuffle s;

    s.pixels = _mm256_setr_epi8(
        0, z, 3, z, 1, z, 4, z, 2, z, 5, z, z, z, z, z,    /* pixels 0 and 1 */
        6, z, 9, z, 7, z, 10, z, 8, z, 11, z, z, z, z, z); /* 2 and 3 */
    s.weights = _mm256_setr_epi8(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6,
                                 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7);
    return s;
}

/* Arranges four weights for the products. */
AVX2 static inline __m256i resize_weights4(const int16_t *w, __m256i shuffle)
{
    int64_t four;

    memcpy(&four, w, sizeof(four));
    return _mm256_shuffle_epi8(_mm256_set1_epi64x(four), shuffle);
}

/* Sums of products with both parts of the weights. */
struct resize_sum {
    __m256i high, low;
};

/* sum of weight * pixel over four pixels at p, added to acc */
AVX2 static inline void resize_add4(struct resize_sum *acc, const uint8_t *p,
                                    const struct resize_sum *weights, __m256i shuffle)
{
    __m256i raw = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p));

    raw = _mm256_shuffle_epi8(raw, shuffle);
    acc->high = _mm256_add_epi32(acc->high, _mm256_madd_epi16(raw, weights->high));
    acc->low = _mm256_add_epi32(acc->low, _mm256_madd_epi16(raw, weights->low));
}

/* Combines both parts, rounds, and removes the fractional bits. */
AVX2 static inline __m256i resize_round(struct resize_sum s)
{
    __m256i half = _mm256_set1_epi32(1 << (RESIZE_BITS - 1));
    __m256i sum = _mm256_add_epi32(_mm256_slli_epi32(s.high, RESIZE_LOW), s.low);

    return _mm256_srai_epi32(_mm256_add_epi32(sum, half), RESIZE_BITS);
}

/* Adds the halves, rounds, and stores three bytes, followed by one byte of garbage. */
AVX2 static inline void resize_store(uint8_t *dst, const struct resize_sum *acc)
{
    __m256i all = _mm256_add_epi32(_mm256_slli_epi32(acc->high, RESIZE_LOW), acc->low);
    __m128i sum =
        _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    int rgb;

    sum = _mm_add_epi32(sum, _mm_set1_epi32(1 << (RESIZE_BITS - 1)));
    sum = _mm_srai_epi32(sum, RESIZE_BITS);
    sum = _mm_packs_epi32(sum, sum);
    rgb = _mm_cvtsi128_si32(_mm_packus_epi16(sum, sum));
    memcpy(dst, &rgb, sizeof(rgb));
}

AVX2 static void resize_rows4(const struct resize_table *t, const struct resize_rows *r)
{
    struct resize_shuffle s = resize_shuffles();
    size_t step = r->src_stride, out = r->dst_stride;

    for (int x = 0; x < t->n; x++) {
        size_t pos = (size_t)x * (size_t)t->stride;
        const uint8_t *p = r->src + (size_t)t->first[x] * 3;
        uint8_t *dst = r->dst + (size_t)x * 3;
        struct resize_sum a0 = {_mm256_setzero_si256(), _mm256_setzero_si256()};
        struct resize_sum a1 = a0, a2 = a0, a3 = a0;

        for (int k = 0; k < t->taps; k += RESIZE_GROUP, p += resize_step) {
            struct resize_sum w4 = {resize_weights4(t->high + pos + k, s.weights),
                                    resize_weights4(t->low + pos + k, s.weights)};

            resize_add4(&a0, p, &w4, s.pixels);
            resize_add4(&a1, p + step, &w4, s.pixels);
            resize_add4(&a2, p + 2 * step, &w4, s.pixels);
            resize_add4(&a3, p + 3 * step, &w4, s.pixels);
        }
        resize_store(dst, &a0);
        resize_store(dst + out, &a1);
        resize_store(dst + 2 * out, &a2);
        resize_store(dst + 3 * out, &a3);
    }
}

AVX2 static void resize_row1(const struct resize_table *t, const uint8_t *src,
                             uint8_t *dst)
{
    struct resize_shuffle s = resize_shuffles();

    for (int x = 0; x < t->n; x++) {
        size_t pos = (size_t)x * (size_t)t->stride;
        const uint8_t *p = src + (size_t)t->first[x] * 3;
        struct resize_sum acc = {_mm256_setzero_si256(), _mm256_setzero_si256()};

        for (int k = 0; k < t->taps; k += RESIZE_GROUP, p += resize_step) {
            struct resize_sum w4 = {resize_weights4(t->high + pos + k, s.weights),
                                    resize_weights4(t->low + pos + k, s.weights)};

            resize_add4(&acc, p, &w4, s.pixels);
        }
        resize_store(dst + (size_t)x * 3, &acc);
    }
}

void resize_horizontal_avx2(const struct resize_table *t, const struct resize_rows *r)
{
    struct resize_rows four = *r;
    int y = 0;

    for (; y + 4 <= r->rows; y += 4) {
        resize_rows4(t, &four);
        four.src += 4 * r->src_stride;
        four.dst += 4 * r->dst_stride;
    }
    for (; y < r->rows; y++) {
        resize_row1(t, four.src, four.dst);
        four.src += r->src_stride;
        four.dst += r->dst_stride;
    }
}

AVX2 static inline void resize_add_pair(struct resize_sum *acc, __m256i pixels,
                                        const struct resize_sum *w)
{
    acc->high = _mm256_add_epi32(acc->high, _mm256_madd_epi16(pixels, w->high));
    acc->low = _mm256_add_epi32(acc->low, _mm256_madd_epi16(pixels, w->low));
}

/* Two weights in every 32-bit lane. */
AVX2 static inline __m256i resize_pair(const int16_t *w)
{
    int pair;

    memcpy(&pair, w, sizeof(pair));
    return _mm256_set1_epi32(pair);
}

/* Computes 32 columns of one output row. */
AVX2 static inline void resize_columns32(const int16_t *high, const int16_t *low,
                                         const uint8_t *const *row, int taps, size_t pos,
                                         uint8_t *dst)
{
    const __m256i zero = _mm256_setzero_si256();
    struct resize_sum a0 = {zero, zero}, a1 = a0, a2 = a0, a3 = a0;
    __m256i first, second;

    for (int k = 0; k < taps; k += 2) {
        __m256i p = _mm256_loadu_si256((const __m256i *)(row[k] + pos));
        __m256i q = _mm256_loadu_si256((const __m256i *)(row[k + 1] + pos));
        __m256i lo = _mm256_unpacklo_epi8(p, q), hi = _mm256_unpackhi_epi8(p, q);
        struct resize_sum w = {resize_pair(high + k), resize_pair(low + k)};

        resize_add_pair(&a0, _mm256_unpacklo_epi8(lo, zero), &w);
        resize_add_pair(&a1, _mm256_unpackhi_epi8(lo, zero), &w);
        resize_add_pair(&a2, _mm256_unpacklo_epi8(hi, zero), &w);
        resize_add_pair(&a3, _mm256_unpackhi_epi8(hi, zero), &w);
    }
    first = _mm256_packs_epi32(resize_round(a0), resize_round(a1));
    second = _mm256_packs_epi32(resize_round(a2), resize_round(a3));
    _mm256_storeu_si256((__m256i *)(dst + pos), _mm256_packus_epi16(first, second));
}

AVX2 void resize_vertical_avx2(const int16_t *high, const int16_t *low,
                               const uint8_t *const *row, int taps, uint8_t *dst, int len)
{
    int pos = 0;

    if (len < 32) {
        resize_vertical_c(high, low, row, taps, dst, len);
        return;
    }
    for (; pos + 32 <= len; pos += 32)
        resize_columns32(high, low, row, taps, (size_t)pos, dst);
    if (pos < len) /* the last block overlaps */
        resize_columns32(high, low, row, taps, (size_t)len - 32, dst);
}

#else

void resize_horizontal_avx2(const struct resize_table *t, const struct resize_rows *r)
{
    (void)t, (void)r;
    BUG("AVX2 on a machine without it");
}

void resize_vertical_avx2(const int16_t *high, const int16_t *low,
                          const uint8_t *const *row, int taps, uint8_t *dst, int len)
{
    (void)high, (void)low, (void)row, (void)taps, (void)dst, (void)len;
    BUG("AVX2 on a machine without it");
}

#endif
