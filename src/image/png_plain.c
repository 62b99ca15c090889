#include "image/png_plain.h"

#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>
#ifdef __x86_64__
#include <emmintrin.h>
#endif

#include "base/alloc.h"
#include "base/clones.h"
#include "base/error.h"
#include "base/failure.h"
#include "image/png_chunks.h"

enum { COLOR_GRAY = 0, COLOR_PALETTE = 3, COLORS = 256, SLACK = 64 };

/* Bytes per pixel by the color type of the header. */
static const uint8_t stored_channels[8] = {1, 0, 3, 1, 2, 0, 4, 0};

struct buffer {
    uint8_t *data;
    size_t cap;
};

struct png_plain {
    struct libdeflate_decompressor *inflate;
    struct buffer packed, rows, two; /* joined IDATs; filtered rows; two unfiltered
                                      * rows */
};

struct png_plain *png_plain_new(void)
{
    struct png_plain *p = xcalloc(1, sizeof(*p));

    p->inflate = libdeflate_alloc_decompressor();
    if (!p->inflate)
        die("out of memory: no decoder of PNG");
    return p;
}

void png_plain_free(struct png_plain *p)
{
    if (!p)
        return;
    libdeflate_free_decompressor(p->inflate);
    free(p->packed.data);
    free(p->rows.data);
    free(p->two.data);
    free(p);
}

static bool room(struct buffer *b, size_t need)
{
    if (need > b->cap) {
        free(b->data);
        b->data = malloc(need);
        b->cap = b->data ? need : 0;
    }
    return b->data != NULL;
}

/* ---- filters ---- */

CLONES static void add_up(const uint8_t *restrict start, const uint8_t *restrict up,
                          uint8_t *restrict dst, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = (uint8_t)(start[i] + up[i]);
}

static inline int distance(int a, int b)
{
    return a > b ? a - b : b - a;
}

/* Paeth's predictor: returns a (left), b (up), or c (up left), whichever is nearest to a
 * + b - c. */
static inline int nearest(int a, int b, int c)
{
    int pa = distance(b, c), pb = distance(a, c), pc = abs(a + b - 2 * c);

    if (pa <= pb && pa <= pc)
        return a;
    return pb <= pc ? b : c;
}

/* Filters 1, 3, and 4. One pixel (`step` bytes) before `dst` and `up` must be readable. */
static void unfilter_bytes(int filter, ptrdiff_t step, const uint8_t *src,
                           const uint8_t *up, uint8_t *dst, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        int a = dst[i - step], b = up[i], c = up[i - step];
        int guess = filter == 1 ? a : filter == 3 ? (a + b) / 2 : nearest(a, b, c);

        dst[i] = (uint8_t)(src[i] + guess);
    }
}

#ifdef __x86_64__

static inline __m128i load_pixel(const uint8_t *p)
{
    int v;

    memcpy(&v, p, sizeof(v));
    return _mm_cvtsi32_si128(v);
}

static inline void store_pixel(uint8_t *p, __m128i pixel)
{
    int v = _mm_cvtsi128_si32(pixel);

    memcpy(p, &v, sizeof(v));
}

static inline __m128i absolute(__m128i v)
{
    return _mm_max_epi16(v, _mm_sub_epi16(_mm_setzero_si128(), v));
}

static inline __m128i choose(__m128i mask, __m128i yes, __m128i no)
{
    return _mm_or_si128(_mm_and_si128(mask, yes), _mm_andnot_si128(mask, no));
}

/* nearest() of four channels in 16 bits */
static inline __m128i nearest4(__m128i a, __m128i b, __m128i c)
{
    __m128i da = _mm_sub_epi16(b, c), db = _mm_sub_epi16(a, c);
    __m128i pa = absolute(da), pb = absolute(db), pc = absolute(_mm_add_epi16(da, db));
    __m128i least = _mm_min_epi16(pa, _mm_min_epi16(pb, pc));

    return choose(_mm_cmpeq_epi16(least, pa), a,
                  choose(_mm_cmpeq_epi16(least, pb), b, c));
}

/* Pixels of three or four bytes, always read and written as four. */
static inline __attribute__((always_inline)) void unfilter_pixels(int filter, size_t step,
                                                                  const uint8_t *src,
                                                                  const uint8_t *up,
                                                                  uint8_t *dst, size_t n)
{
    const __m128i zero = _mm_setzero_si128(), one = _mm_set1_epi8(1);
    __m128i a = zero, c = zero;

    for (size_t i = 0; i < n; i += step) {
        __m128i x = load_pixel(src + i), b = load_pixel(up + i);

        if (filter == 1) {
            a = _mm_add_epi8(x, a);
        } else if (filter == 3) { /* pavgb rounds up */
            __m128i odd = _mm_and_si128(_mm_xor_si128(a, b), one);

            a = _mm_add_epi8(x, _mm_sub_epi8(_mm_avg_epu8(a, b), odd));
        } else {
            __m128i wide = _mm_unpacklo_epi8(b, zero);
            __m128i guess = nearest4(_mm_unpacklo_epi8(a, zero), wide, c);

            c = wide;
            a = _mm_add_epi8(x, _mm_packus_epi16(guess, guess));
        }
        store_pixel(dst + i, a);
    }
}

static bool unfilter_fast(int filter, int step, const uint8_t *src, const uint8_t *up,
                          uint8_t *dst, size_t n)
{
    if (step == 3 && filter == 1)
        unfilter_pixels(1, 3, src, up, dst, n);
    else if (step == 3 && filter == 3)
        unfilter_pixels(3, 3, src, up, dst, n);
    else if (step == 3)
        unfilter_pixels(4, 3, src, up, dst, n);
    else if (step == 4 && filter == 1)
        unfilter_pixels(1, 4, src, up, dst, n);
    else if (step == 4 && filter == 3)
        unfilter_pixels(3, 4, src, up, dst, n);
    else if (step == 4)
        unfilter_pixels(4, 4, src, up, dst, n);
    else
        return false;
    return true;
}

#else

static bool unfilter_fast(int filter, int step, const uint8_t *src, const uint8_t *up,
                          uint8_t *dst, size_t n)
{
    (void)filter, (void)step, (void)src, (void)up, (void)dst, (void)n;
    return false;
}

#endif

void png_plain_unfilter(int filter, int step, const uint8_t *src, const uint8_t *up,
                        uint8_t *dst, size_t n)
{
    if (filter == 0)
        memcpy(dst, src, n);
    else if (filter == 2)
        add_up(src, up, dst, n);
    else if (!unfilter_fast(filter, step, src, up, dst, n))
        unfilter_bytes(filter, step, src, up, dst, (ptrdiff_t)n);
}

/* ---- chunks ---- */

struct png_file {
    const uint8_t *d;
    size_t chunk; /* offset of the chunk; 0: before the first */
    uint32_t n;   /* bytes of its data */
};

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Advances to the next chunk; returns false at IEND. Requires png_chunks_check(). */
static bool next_chunk(struct png_file *f)
{
    f->chunk = f->chunk ? f->chunk + 12 + f->n : 8;
    f->n = big_endian(f->d + f->chunk);
    return memcmp(f->d + f->chunk + 4, "IEND", 4) != 0;
}

static bool is_chunk(const struct png_file *f, const char *type)
{
    return memcmp(f->d + f->chunk + 4, type, 4) == 0;
}

/* Joins all IDATs into *n bytes; returns NULL if memory runs out. */
static const uint8_t *packed_data(struct png_plain *p, const uint8_t *d, size_t len,
                                  size_t *n)
{
    struct png_file f = {.d = d};

    *n = 0;
    if (!room(&p->packed, len))
        return NULL;
    while (next_chunk(&f))
        if (is_chunk(&f, "IDAT")) {
            memcpy(p->packed.data + *n, d + f.chunk + 8, f.n);
            *n += f.n;
        }
    return p->packed.data;
}

/* Reads the first PLTE before the pixels; returns false if there is none or if a color is
 * incomplete. */
static bool read_palette(const uint8_t *d, uint8_t color[COLORS][3])
{
    struct png_file f = {.d = d};

    while (next_chunk(&f) && !is_chunk(&f, "IDAT"))
        if (is_chunk(&f, "PLTE")) {
            if (f.n < 3 || f.n % 3 || f.n > 3 * COLORS)
                return false;
            memset(color, 0, 3 * COLORS);
            memcpy(color, d + f.chunk + 8, f.n);
            return true;
        }
    return false;
}

/* tRNS makes colors transparent: it is no stored channel, although stb_image counts one. */
static bool has_transparent(const uint8_t *d)
{
    struct png_file f = {.d = d};

    while (next_chunk(&f))
        if (is_chunk(&f, "tRNS"))
            return true;
    return false;
}

/* ---- pixels ---- */

struct png_image {
    int w, h, kind, stored; /* sides; PNG's color type; its channels */
    uint8_t color[COLORS][3];
};

static bool is_plain(const uint8_t *d, size_t len, int channels, struct png_image *m)
{
    if (!png_chunks_size(d, len, &m->w, &m->h) || len < 33)
        return false;
    m->kind = d[25];
    m->stored = m->kind < 8 ? stored_channels[m->kind] : 0;
    if (d[24] != 8 || !m->stored || d[26] || d[27] || d[28])
        return false;
    if (channels != IMAGE_RGB &&
        (channels != m->stored || m->kind == COLOR_PALETTE || has_transparent(d)))
        return false;
    return m->kind != COLOR_PALETTE || read_palette(d, m->color);
}

/* Converts pixels [x, x + n) of a row to RGB, or copies them. */
static void put_row(const struct png_image *m, int channels, const uint8_t *src, int n,
                    uint8_t *dst)
{
    if (channels == m->stored && m->kind != COLOR_PALETTE) {
        memcpy(dst, src, (size_t)n * (size_t)channels);
        return;
    }
    for (int i = 0; i < n; i++, src += m->stored, dst += 3) {
        if (m->kind == COLOR_PALETTE)
            memcpy(dst, m->color[*src], 3);
        else if (m->stored >= 3)
            memcpy(dst, src, 3);
        else
            memset(dst, *src, 3);
    }
}

/* Unfilters the rows down to the end of the part, into an image with enough room. */
static int put_rows(const struct png_plain *p, const struct png_image *m,
                    const struct image_part *part, int channels, struct image *img,
                    struct strbuf *why)
{
    size_t row = (size_t)m->w * (size_t)m->stored, padded = row + 2 * SLACK;
    uint8_t *up = p->two.data + SLACK, *dst = up + padded;
    const uint8_t *src = p->rows.data;

    memset(p->two.data, 0, 2 * padded);
    for (int y = 0; y < part->y + part->h; y++, src += 1 + row) {
        uint8_t *was = up;

        if (*src > 4) {
            strbuf_addf(why, "damaged: row %d has the filter %d", y, *src);
            return FAILURE_DATA;
        }
        png_plain_unfilter(*src, m->stored, src + 1, up, dst, row);
        if (y >= part->y)
            put_row(m, channels, dst + (size_t)part->x * (size_t)m->stored, part->w,
                    img->pixel + (size_t)(y - part->y) * img->stride);
        up = dst;
        dst = was;
    }
    return 0;
}

/* Inflates all rows with their filters into p->rows; returns as png_plain_read. */
static int unpack(struct png_plain *p, const uint8_t *d, size_t len,
                  const struct png_image *m, struct strbuf *why)
{
    size_t n, row = (size_t)m->w * (size_t)m->stored, want = (row + 1) * (size_t)m->h;
    enum libdeflate_result rc;
    const uint8_t *packed;
    size_t got = 0;

    packed = packed_data(p, d, len, &n);
    if (!packed || !room(&p->rows, want + SLACK) ||
        !room(&p->two, 2 * (row + 2 * SLACK))) {
        strbuf_addstr(why, "no memory for its pixels");
        return FAILURE_MACHINE;
    }
    if (n == 0)
        return 1;
    rc = libdeflate_zlib_decompress(p->inflate, packed, n, p->rows.data, want, &got);
    if (rc == LIBDEFLATE_INSUFFICIENT_SPACE)
        return 1;
    if (rc == LIBDEFLATE_SUCCESS && got == want)
        return 0;
    if (rc == LIBDEFLATE_SUCCESS)
        strbuf_addf(why, "damaged: %zu bytes of pixels, not %zu", got, want);
    else
        strbuf_addstr(why, "damaged: its pixels cannot be unpacked");
    return FAILURE_DATA;
}

int png_plain_read(struct png_plain *p, const uint8_t *d, size_t len,
                   const struct image_part *part, int channels, struct image *img,
                   struct strbuf *why)
{
    struct png_image m;
    int rc;

    if (!is_plain(d, len, channels, &m))
        return 1;
    rc = unpack(p, d, len, &m, why);
    if (rc)
        return rc;
    image_reserve(img, part->w, part->h, channels);
    img->x = part->x;
    img->y = part->y;
    return put_rows(p, &m, part, channels, img, why);
}

bool png_plain_has_values(const uint8_t *d, size_t len)
{
    int w, h;

    return len >= 33 && png_chunks_size(d, len, &w, &h) && d[24] == 8 &&
           (d[25] == COLOR_GRAY || d[25] == COLOR_PALETTE) && !d[26] && !d[27] && !d[28];
}

int png_plain_values(struct png_plain *p, const uint8_t *d, size_t len, uint8_t *dst,
                     struct strbuf *why)
{
    struct png_image m = {.kind = COLOR_GRAY, .stored = 1};
    struct image img = {.pixel = dst};
    int rc;

    if (!png_chunks_size(d, len, &m.w, &m.h))
        return 1;
    img.stride = (size_t)m.w;
    rc = unpack(p, d, len, &m, why);
    return rc ? rc
              : put_rows(p, &m, &(struct image_part){0, 0, m.w, m.h, 1}, 1, &img, why);
}
