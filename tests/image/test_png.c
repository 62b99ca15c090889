/* PNGs of every filter, color type, and width, as libpng writes them; row filters against
 * the text of the specification (9.2); damage with correct checksums. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>
#include <png.h>

#include "base/alloc.h"
#include "base/philox.h"
#include "base/strbuf.h"
#include "image/label.h"
#include "image/png_plain.h"
#include "tests/image/decode_image.h"
#include "tests/test.h"

static uint8_t noise(int i)
{
    return (uint8_t)philox(7, PHILOX_TEST, 0, (uint64_t)i).v[0];
}

/* Smooth with some noise, so that all branches of the filters are taken. */
static uint8_t value(int x, int y, int c)
{
    int wave = 3 * x + 5 * y + 70 * c;

    return (uint8_t)((x ^ y) & 4 ? wave : wave + noise(x * 31 + y * 17 + c) % 9);
}

static int paeth(int a, int b, int c)
{
    int p = a + b - c, pa = abs(p - a), pb = abs(p - b), pc = abs(p - c);

    return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

static void rows_are_unfiltered(void **state)
{
    enum { N = 24 * 5, PAD = 16 };
    uint8_t src[N + PAD], up[N + 2 * PAD] = {0}, dst[N + 2 * PAD] = {0}, want[N];

    (void)state;
    for (int i = 0; i < N + PAD; i++) {
        src[i] = noise(i);
        up[PAD + i] = noise(1000 + i);
    }
    for (int step = 1; step <= 4; step++)
        for (int filter = 0; filter <= 4; filter++)
            for (int n = step; n <= N; n += step) {
                for (int i = 0; i < n; i++) {
                    int a = i < step ? 0 : want[i - step], b = up[PAD + i];
                    int c = i < step ? 0 : up[PAD + i - step];
                    int guess[] = {0, a, b, (a + b) / 2, paeth(a, b, c)};

                    want[i] = (uint8_t)(src[i] + guess[filter]);
                }
                memset(up, 0, PAD);
                memset(dst, 0, sizeof(dst));
                png_plain_unfilter(filter, step, src, up + PAD, dst + PAD, (size_t)n);
                if (memcmp(dst + PAD, want, (size_t)n) != 0)
                    fail_msg("filter %d, %d bytes of %d", filter, n, step);
            }
}

static void on_write(png_structp p, png_bytep data, size_t n)
{
    strbuf_add(png_get_io_ptr(p), (const char *)data, n);
}

static void on_flush(png_structp p)
{
    (void)p;
}

struct made {
    int w, h, color, bits, filters, interlace, piece;
};

static int channels_of(int color)
{
    return color == PNG_COLOR_TYPE_RGB          ? 3
           : color == PNG_COLOR_TYPE_RGBA       ? 4
           : color == PNG_COLOR_TYPE_GRAY_ALPHA ? 2
                                                : 1;
}

static void make_png(const struct made *m, struct strbuf *out)
{
    png_structp p = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(p);
    int n = channels_of(m->color) * m->bits / 8;
    png_color palette[200];
    uint8_t *row = xmalloc((size_t)(m->w * n));

    for (int i = 0; i < 200; i++)
        palette[i] = (png_color){noise(3 * i), noise(3 * i + 1), noise(3 * i + 2)};
    png_set_write_fn(p, out, on_write, on_flush);
    png_set_IHDR(p, info, (png_uint_32)m->w, (png_uint_32)m->h, m->bits, m->color,
                 m->interlace, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (m->color == PNG_COLOR_TYPE_PALETTE)
        png_set_PLTE(p, info, palette, 200);
    png_set_filter(p, PNG_FILTER_TYPE_BASE, m->filters);
    png_set_compression_buffer_size(p, (size_t)m->piece);
    png_write_info(p, info);
    for (int pass = png_set_interlace_handling(p); pass > 0; pass--)
        for (int y = 0; y < m->h; y++) {
            for (int i = 0; i < m->w * n; i++)
                row[i] = value(i / n, y, i % n);
            for (int i = 0; i < m->w && m->color == PNG_COLOR_TYPE_PALETTE; i++)
                row[i] = row[i] % 200;
            png_write_row(p, row);
        }
    png_write_end(p, info);
    png_destroy_write_struct(&p, &info);
    free(row);
}

/* Returns channel c of pixel (x, y) as 8-bit RGB. */
static uint8_t expected(const struct made *m, int x, int y, int c)
{
    int bytes = m->bits / 8;

    if (m->color == PNG_COLOR_TYPE_PALETTE)
        return noise(3 * (value(x, y, 0) % 200) + c);
    if (channels_of(m->color) < 3)
        c = 0;
    return value(x, y, c * bytes); /* of 16 bits the high byte */
}

static void expect_part(const struct made *m, const struct image *img,
                        const struct image_part *part)
{
    for (int y = part->y; y < part->y + part->h; y++)
        for (int x = part->x; x < part->x + part->w; x++)
            for (int c = 0; c < 3; c++) {
                int got = img->pixel[(size_t)(y - img->y) * img->stride +
                                     (size_t)(x - img->x) * 3 + (size_t)c];

                if (got != expected(m, x, y, c))
                    fail_msg("color type %d, %d bits, filters %x, interlace %d, %d "
                             "wide: (%d, %d) channel %d is %d, not %d",
                             m->color, m->bits, (unsigned)m->filters, m->interlace, m->w,
                             x, y, c, got, expected(m, x, y, c));
            }
}

/* Gray levels and palette indices are values of a label map. */
static void expect_values(const struct made *m, const uint8_t *data, size_t len)
{
    struct label_reader r = {0};
    struct strbuf why = STRBUF_INIT;
    bool palette = m->color == PNG_COLOR_TYPE_PALETTE;

    if ((m->color != PNG_COLOR_TYPE_GRAY && !palette) || m->bits != 8)
        return;
    if (label_read(&r, data, len, NULL, &why) < 0)
        fail_msg("%s", why.buf);
    for (int i = 0; i < m->w * m->h; i++)
        assert_int_equal(r.pixel[i],
                         value(i % m->w, i / m->w, 0) % (palette ? 200 : 256));
    label_reader_release(&r);
}

static void every_png_is_read(void **state)
{
    static const int colors[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_RGB,
                                 PNG_COLOR_TYPE_PALETTE, PNG_COLOR_TYPE_GRAY_ALPHA,
                                 PNG_COLOR_TYPE_RGBA};
    static const int filters[] = {PNG_FILTER_NONE, PNG_FILTER_SUB,   PNG_FILTER_UP,
                                  PNG_FILTER_AVG,  PNG_FILTER_PAETH, PNG_ALL_FILTERS};
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};

    (void)state;
    for (int k = 0; k < 5 * 6 * 4; k++) {
        struct made m = {.w = 1 + k * 7 % 61,
                         .h = 1 + k * 5 % 37,
                         .color = colors[k % 5],
                         .bits = k % 5 != 2 && k / 30 == 3 ? 16 : 8,
                         .filters = filters[k / 5 % 6],
                         .interlace = k / 30 == 2,
                         .piece = k % 2 ? 100 : 1 << 16};
        struct image_part part = {m.w / 3, m.h / 4, (m.w + 1) / 2, (m.h + 1) / 2, 1};
        struct image_part all = {0, 0, m.w, m.h, 1};
        struct strbuf png = STRBUF_INIT;
        uint8_t *data;

        make_png(&m, &png);
        data = xmemdup(png.buf, png.len); /* so that reading past the end is detected */
        assert_int_equal(decode_image(d, data, png.len, NULL, &img, &why), 0);
        expect_part(&m, &img, &all);
        assert_int_equal(decode_image(d, data, png.len, &part, &img, &why), 0);
        expect_part(&m, &img, &part);
        expect_values(&m, data, png.len);
        free(data);
        strbuf_release(&png);
    }
    image_release(&img);
    image_decoder_free(d);
    strbuf_release(&why);
}

/* The header has other sides than the pixels, with a correct checksum. */
static void other_sides_are_refused(void **state)
{
    struct made m = {
        .w = 9, .h = 8, .color = PNG_COLOR_TYPE_RGB, .bits = 8, .piece = 100};
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf png = STRBUF_INIT, why = STRBUF_INIT;
    struct image img = {0};
    uint8_t *header;

    (void)state;
    m.filters = PNG_FILTER_SUB;
    make_png(&m, &png);
    header = (uint8_t *)png.buf + 8;
    for (int h = 9; h > 6; h--) {
        bool good = h <= 8; /* surplus rows are accepted, as in Pillow */
        uint32_t sum;

        header[8 + 7] = (uint8_t)h;
        sum = libdeflate_crc32(0, header + 4, 4 + 13);
        for (int i = 0; i < 4; i++)
            header[8 + 13 + i] = (uint8_t)(sum >> (24 - 8 * i));
        if (decode_image(d, png.buf, png.len, NULL, &img, &why) != (good ? 0 : -1) ||
            !strstr(why.len ? why.buf : "", good ? "" : "224 bytes of pixels, not 252"))
            fail_msg("%d rows: %s", h, why.buf);
    }
    strbuf_release(&png);
    strbuf_release(&why);
    image_release(&img);
    image_decoder_free(d);
}

/* For both readers, plain and interlaced, cut at any byte. */
static void cut_label_maps_say_so(void **state)
{
    (void)state;
    for (int interlace = 0; interlace < 2; interlace++) {
        struct made m = {.w = 19, .h = 8, .bits = 8, .filters = PNG_FILTER_NONE};
        struct label_reader r = {0};
        struct strbuf png = STRBUF_INIT, why = STRBUF_INIT;

        m.piece = 60;
        m.interlace = interlace;
        make_png(&m, &png);
        for (size_t cut = 8; cut < png.len; cut++) {
            uint8_t *data = xmemdup(png.buf, cut);

            strbuf_reset(&why);
            assert_int_equal(label_read(&r, data, cut, NULL, &why), -1);
            assert_string_equal(why.buf, "the file is cut off");
            free(data);
        }
        label_reader_release(&r);
        strbuf_release(&png);
        strbuf_release(&why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_unfiltered),
        cmocka_unit_test(every_png_is_read),
        cmocka_unit_test(other_sides_are_refused),
        cmocka_unit_test(cut_label_maps_say_so),
    };

    return cmocka_run_group_tests_name("image_png", tests, NULL, NULL);
}
