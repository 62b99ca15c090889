/* TIFFs and PNGs with more than 8 bits, and the values that become black and white. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "image/label.h"
#include "tests/image/decode_image.h"
#include "tests/test.h"

enum { N = 5, TAGS = 10, PIXELS = 8 + 2 + 12 * TAGS + 4 };

static void put(uint8_t *p, uint32_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

/* Writes a TIFF of N x 1 gray samples, little-endian; returns its length. */
static size_t make_tiff(uint8_t *d, const void *samples, int bits, int format)
{
    const uint32_t tag[TAGS][2] = {{256, N},
                                   {257, 1},
                                   {258, (uint32_t)bits},
                                   {259, 1},
                                   {262, 1},
                                   {273, PIXELS},
                                   {277, 1},
                                   {278, 1},
                                   {279, (uint32_t)(N * bits / 8)},
                                   {339, (uint32_t)format}};

    memset(d, 0, PIXELS);
    memcpy(d, "II*\0\10\0\0\0\12\0", 10);
    for (int i = 0; i < TAGS; i++) {
        put(d + 10 + 12 * i, tag[i][0], 2);
        put(d + 12 + 12 * i, 4, 2);
        put(d + 14 + 12 * i, 1, 4);
        put(d + 18 + 12 * i, tag[i][1], 4);
    }
    memcpy(d + PIXELS, samples, (size_t)(N * bits / 8));
    return PIXELS + (size_t)(N * bits / 8);
}

/* One pixel of three 64-bit samples, in a missing tile of `side` x `side`. */
static size_t make_tile(uint8_t *d, uint32_t side)
{
    enum { TILE_TAGS = 11, END = 8 + 2 + 12 * TILE_TAGS + 4 };
    const uint32_t tag[TILE_TAGS][3] = {{256, 1, 1},    {257, 1, 1},      {258, 3, END},
                                        {259, 1, 1},    {262, 1, 2},      {277, 1, 3},
                                        {322, 1, side}, {323, 1, side},   {324, 1, 8},
                                        {325, 1, 8},    {339, 3, END + 6}};

    memset(d, 0, END);
    memcpy(d, "II*\0\10\0\0\0", 8);
    put(d + 8, TILE_TAGS, 2);
    for (int i = 0; i < TILE_TAGS; i++) {
        put(d + 10 + 12 * i, tag[i][0], 2);
        put(d + 12 + 12 * i, tag[i][1] > 1 ? 3 : 4, 2);
        put(d + 14 + 12 * i, tag[i][1], 4);
        put(d + 18 + 12 * i, tag[i][2], 4);
    }
    for (int i = 0; i < 3; i++) {
        put(d + END + 2 * i, 64, 2);
        put(d + END + 6 + 2 * i, 3, 2);
    }
    return END + 12;
}

static void expect(const void *data, size_t len, const char *range, const uint8_t *want)
{
    struct image_limits limits = {0};
    struct image_decoder *d;
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};

    assert_true(value_range_parse(range, &limits.range));
    d = image_decoder_new(&limits);
    if (decode_image(d, data, len, NULL, &img, &why) < 0)
        fail_msg("%s", why.buf);
    for (int i = 0; i < 3 * N; i++)
        if (img.pixel[i] != want[i / 3])
            fail_msg("%s: value %d is %d, not %d", range, i / 3, img.pixel[i],
                     want[i / 3]);
    image_release(&img);
    strbuf_release(&why);
    image_decoder_free(d);
}

static void samples_are_mapped(void **state)
{
    static const uint16_t u16[N] = {0, 255, 256, 4095, 65535};
    static const int16_t i16[N] = {-32768, -1, 0, 256, 32767};
    static const float f[N] = {-1, 0, 1, 2, 3};
    static const double f64[N] = {-1, 0, 1, 2, 3};
    uint8_t d[PIXELS + 8 * N];

    (void)state;
    expect(d, make_tiff(d, u16, 16, 1), "auto", (const uint8_t[]){0, 0, 1, 15, 255});
    expect(d, make_tiff(d, u16, 16, 1), "0,4095", (const uint8_t[]){0, 16, 16, 255, 255});
    expect(d, make_tiff(d, i16, 16, 2), "auto", (const uint8_t[]){0, 127, 128, 129, 255});
    expect(d, make_tiff(d, f, 32, 3), "auto", (const uint8_t[]){0, 64, 128, 191, 255});
    expect(d, make_tiff(d, f64, 64, 3), "0,2", (const uint8_t[]){0, 0, 128, 255, 255});
    expect(d, make_tiff(d, f, 32, 3), "25%,75%", (const uint8_t[]){0, 0, 128, 255, 255});
}

/* Tiles larger than the image are usual, but a pixel does not need 96 MiB. */
static void tiles_are_in_proportion(void **state)
{
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};
    uint8_t data[256];

    (void)state;
    assert_true(decode_image(d, data, make_tile(data, 2048), NULL, &img, &why) < 0);
    assert_non_null(strstr(why.buf, "damaged: rows of another length"));
    strbuf_reset(&why);
    assert_true(decode_image(d, data, make_tile(data, 512), NULL, &img, &why) < 0);
    assert_null(strstr(why.buf, "rows of another length")); /* the tile is missing */
    strbuf_release(&why);
    image_release(&img);
    image_decoder_free(d);
}

/* They would lose their low bytes, or their sign. */
static void they_are_no_label_maps(void **state)
{
    static const uint16_t u16[N] = {0, 1, 2, 3, 4};
    static const int8_t i8[N] = {0, 1, 2, 3, 4};
    static const float f[N] = {0, 1, 2, 3, 4};
    static const struct {
        const void *samples;
        int bits, format;
    } kinds[] = {{u16, 16, 1}, {i8, 8, 2}, {f, 32, 3}};
    struct label_reader r = {0};
    struct strbuf why = STRBUF_INIT;
    uint8_t d[PIXELS + 8 * N];

    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        size_t len = make_tiff(d, kinds[i].samples, kinds[i].bits, kinds[i].format);

        strbuf_reset(&why);
        assert_true(label_decode_colors(&r, d, len, NULL, &why) < 0);
        assert_string_equal(why.buf, label_deep_reason);
        strbuf_reset(&why);
        assert_true(label_read(&r, d, len, NULL, &why) < 0);
        assert_non_null(strstr(why.buf, label_deep_reason));
    }
    strbuf_reset(&why);
    assert_int_equal(label_decode_colors(&r, d, make_tiff(d, i8, 8, 1), NULL, &why), 0);
    strbuf_release(&why);
    label_reader_release(&r);
}

/* Unreadable files are rejected, and parts equal parts of the whole. */
static void parts_and_cut_files(void **state)
{
    static const float f[N] = {-1, 0, 1, 2, 3};
    uint8_t d[PIXELS + 8 * N];
    size_t len = make_tiff(d, f, 32, 3);

    (void)state;
    decode_check_parts(d, len, 3);
    decode_refuse(NULL, d, len - 1, "the file is cut off");
}

static void pngs_have_a_range(void **state)
{
    struct image_limits limits = {.range = {RANGE_LIMITS, 0, 256 * 100}};
    struct image_decoder *plain = image_decoder_new(NULL),
                         *d = image_decoder_new(&limits);
    struct strbuf why = STRBUF_INIT;
    struct image high = {0}, img = {0};
    size_t len;
    char *data = file_read("tests/golden/image_decode/gray16.png", &len);

    (void)state;
    assert_int_equal(decode_image(plain, data, len, NULL, &high, &why), 0);
    assert_int_equal(decode_image(d, data, len, NULL, &img, &why), 0);
    for (int i = 0; i < 3 * img.w * img.h; i++) {
        double v = (256.0 * high.pixel[i] + 77) / 25600 * 255;

        assert_int_equal(img.pixel[i], v > 255 ? 255 : (int)(v + 0.5));
    }
    free(data);
    image_release(&high);
    image_release(&img);
    strbuf_release(&why);
    image_decoder_free(plain);
    image_decoder_free(d);
}

static void texts_are_checked(void **state)
{
    static const char *const wrong[] = {"",     "1",       "1,",   "2,1",  "1,1",
                                        "1%,2", "0%,101%", "1,2x", "nan,1"};
    struct value_range r;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_false(value_range_parse(wrong[i], &r));
    assert_true(value_range_parse("-1.5, 2e3", &r) && r.lo == -1.5 && r.hi == 2000);
    assert_true(value_range_parse("1%, 99%", &r) && r.kind == RANGE_PERCENTILES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_mapped),
        cmocka_unit_test(parts_and_cut_files),
        cmocka_unit_test(pngs_have_a_range),
        cmocka_unit_test(texts_are_checked),
        cmocka_unit_test(tiles_are_in_proportion),
        cmocka_unit_test(they_are_no_label_maps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
