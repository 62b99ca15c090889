/* Decoding files that are damaged, truncated, not images at all, or larger than
 * allowed. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/philox.h"
#include "tests/image/decode_image.h"
#include "tests/image/make_jpeg.h"
#include "tests/test.h"

/* A truncated JPEG fails whichever part is requested; its reason is libjpeg's. */
static void truncated_fails(void **state)
{
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};
    struct image_part top = {0, 0, 20, 8, 1};

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct make_jpeg m = {.w = 173, .h = 131, .progressive = (int)k};
        size_t len;
        uint8_t *data = make_jpeg(&m, &len);

        for (size_t cut = 1; cut < len - 2; cut += 17) {
            assert_int_equal(decode_image(d, data, cut, NULL, &img, &why), -1);
            assert_true(why.len > 0);
            assert_int_equal(decode_image(d, data, cut, &top, &img, &why), -1);
        }
        assert_int_equal(decode_image(d, data, len, &top, &img, &why), 0);
        free(data);
    }
    image_release(&img);
    strbuf_release(&why);
    image_decoder_free(d);
}

static void not_images_fail(void **state)
{
    static const struct {
        const char *data, *reason;
    } cases[] = {
        {"", "empty"},
        {"hello, I am a text", "starts with \"hello, I am a te\""},
        {"\xff\xd8\xff\xe0", "Premature end"},
        {"\xff\xd8\xff\xd9 and more", "JPEG"},
        {"\x89PNG\r\n\x1a\n and no more", ""},
        {"BM and no more", ""},
        {"P6 -3 x", ""},
        {"GIF89a", ""},
        {"GIF89a\1\1\1\1\1\1\1;", "no image"}, /* without a frame */
    };
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int rc = decode_image(d, cases[i].data, strlen(cases[i].data), NULL, &img, &why);

        if (rc != -1 || why.len == 0 || !strstr(why.buf, cases[i].reason))
            fail_msg("case %zu: rc %d, '%s'", i, rc, why.buf);
    }
    image_release(&img);
    strbuf_release(&why);
    image_decoder_free(d);
}

/* Flips a bit of a PNG: an error, or a chunk that does not affect pixels; pixels never
 * change. */
static void damaged_png_fails(void **state)
{
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image good = {0}, img = {0};
    int n, failed = 0, files = 0;
    char **name = dir_list("tests/golden/image_decode", &n);

    (void)state;
    for (int f = 0; f < n; f++) {
        char *path = path_join("tests/golden/image_decode", name[f]), *data;
        bool png = strcmp(path_extension(path), ".png") == 0;
        size_t len, step;

        data = file_read(path, &len);
        step = len / 97 + 1;
        if (png)
            assert_int_equal(decode_image(d, data, len, NULL, &good, &why), 0);
        for (size_t pos = 8; png && pos < len; pos += step) {
            data[pos] ^= 4;
            if (decode_image(d, data, len, NULL, &img, &why) < 0)
                failed++;
            else
                assert_memory_equal(img.pixel, good.pixel, good.stride * (size_t)good.h);
            data[pos] ^= 4;
        }
        if (png) {
            assert_int_equal(decode_image(d, data, len - 12, NULL, &img, &why), -1);
            assert_string_equal(why.buf, "the file is cut off");
        }
        files += png;
        free(data);
        free(path);
    }
    assert_true(files > 3 && failed > 50 * files);
    dir_list_free(name, n);
    image_release(&good);
    image_release(&img);
    strbuf_release(&why);
    image_decoder_free(d);
}

/* The other formats, cut off anywhere. The last bytes may hold no pixel: GIF's end mark,
 * the padding of BMP's last row, its end code, an icon's mask. */
static void cut_off_fails(void **state)
{
    static const struct {
        const char *name;
        size_t spare;
    } files[] = {{"rgb.bmp", 3},      {"palette.gif", 3},  {"rgb.ppm", 0},
                 {"gray.pgm", 0},     {"rle8.bmp", 4},     {"rle4.bmp", 4},
                 {"os2_4.bmp", 0},    {"bits.pbm", 0},     {"plain.pbm", 1},
                 {"plain.ppm", 2},    {"rgb24.tga", 0},    {"runs24.tga", 0},
                 {"no_clear.gif", 3}, {"depths.ico", 768}, {"png.ico", 12}};
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char *path = path_join("tests/golden/image_decode", files[i].name);
        size_t len;
        char *data = file_read(path, &len);

        assert_int_equal(decode_image(d, data, len, NULL, &img, &why), 0);
        for (size_t cut = 0; cut + files[i].spare < len; cut += 1 + cut / 50) {
            char *copy =
                xmemdup(data, cut + !cut); /* so that reading past the end is detected */

            if (decode_image(d, copy, cut, NULL, &img, &why) == 0)
                fail_msg("%s: %zu of %zu bytes are an image", files[i].name, cut, len);
            free(copy);
        }
        assert_int_equal(
            decode_image(d, data, len - 1 - files[i].spare, NULL, &img, &why), -1);
        assert_string_equal(why.buf, "the file is cut off");
        free(data);
        free(path);
    }
    image_release(&img);
    strbuf_release(&why);
    image_decoder_free(d);
}

/* A row of five 4-bit indices into a palette of three colors. */
static void bmp_colors_beyond_the_palette_are_black(void **state)
{
    enum { PIXELS = 14 + 40 + 3 * 4 };
    uint8_t bmp[PIXELS + 4] = {"BM"};
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};

    (void)state;
    bmp[10] = PIXELS;
    bmp[14] = 40;
    bmp[18] = 5;
    bmp[22] = bmp[26] = 1;
    bmp[28] = 4;
    bmp[46] = 3;
    memset(bmp + PIXELS - 4, 77, 4);
    memcpy(bmp + PIXELS, "\x01\x21\x2f\xff", 4); /* padding after the fifth */
    assert_int_equal(decode_image(d, bmp, sizeof(bmp), NULL, &img, &why), 0);
    assert_int_equal(img.w, 5);
    assert_int_equal(img.pixel[3 * 4], 77);
    bmp[PIXELS + 1] = 0x23;
    assert_int_equal(decode_image(d, bmp, sizeof(bmp), NULL, &img, &why), 0);
    assert_memory_equal(img.pixel + 3 * 3, "\0\0\0", 3); /* as Pillow shows it */
    image_release(&img);
    strbuf_release(&why);
    image_decoder_free(d);
}

static size_t add_chunk(uint8_t *png, size_t len, const char *type, const void *data,
                        size_t n)
{
    uint8_t *ptr = png + len;
    uint32_t crc;

    ptr[2] = (uint8_t)(n >> 8);
    ptr[3] = (uint8_t)n;
    memcpy(ptr + 4, type, 4);
    memcpy(ptr + 8, data, n);
    crc = (uint32_t)crc32(0, ptr + 4, (uInt)n + 4);
    for (int i = 0; i < 4; i++)
        ptr[8 + n + (size_t)i] = (uint8_t)(crc >> (24 - 8 * i));
    return len + 12 + n;
}

/* One pixel of color 1 of a palette of `ncolor` bytes, followed by another color. */
static uint8_t *indexed_png(size_t ncolor, size_t after, size_t *len)
{
    static const uint8_t header[13] = {0, 0, 0, 1, 0, 0, 0, 1, 8, 3};
    static const uint8_t color[] = {9, 9, 9, 50, 60, 70};
    static const uint8_t pixels[] = {0, 1};
    uint8_t png[1024] = {0}, packed[64];
    uLongf npacked = sizeof(packed);

    assert_int_equal(compress(packed, &npacked, pixels, sizeof(pixels)), Z_OK);
    memcpy(png, "\x89PNG\r\n\x1a\n", 8);
    *len = add_chunk(png, 8, "IHDR", header, sizeof(header));
    if (ncolor)
        *len = add_chunk(png, *len, "PLTE", color, ncolor);
    *len = add_chunk(png, *len, "IDAT", packed, npacked);
    *len = add_chunk(png, *len, "IEND", "", 0);
    png[*len + 2] = (uint8_t)(after >> 8);
    png[*len + 3] = (uint8_t)after;
    memcpy(png + *len + 4, "PLTE", 4);
    *len += 12;
    return xmemdup(png, *len); /* so that reading past the end is detected */
}

/* Data after a PNG's end are ignored: they are no palette and no damage. */
static void png_ends_at_its_end(void **state)
{
    static const struct {
        size_t colors, after;
        const char *reason; /* NULL: valid */
    } cases[] = {{6, 767, NULL},
                 {6, 0, NULL},
                 {0, 767, "no PLTE"},
                 {0, 6, "no PLTE"},
                 {4, 767, "invalid PLTE"}};
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t len;
        uint8_t *png = indexed_png(cases[i].colors, cases[i].after, &len);
        int rc = decode_image(d, png, len, NULL, &img, &why);

        if (cases[i].reason) {
            assert_int_equal(rc, -1);
            assert_string_equal(why.buf, cases[i].reason);
        } else {
            assert_int_equal(rc, 0);
            assert_memory_equal(img.pixel, "\x32\x3c\x46", 3);
        }
        free(png);
    }
    image_release(&img);
    strbuf_release(&why);
    image_decoder_free(d);
}

/* Returns the height and width in the start-of-frame. */
static uint8_t *find_sof(uint8_t *data, size_t len)
{
    for (size_t i = 0; i + 9 < len; i++)
        if (data[i] == 0xff && (data[i + 1] == 0xc0 || data[i + 1] == 0xc2))
            return data + i + 5;
    fail_msg("no start of frame");
    return NULL;
}

/* The header of a PNG of 60000 x 60000 pixels, which stb_image does not recognize. */
static void png_bombs_are_refused(void **state)
{
    static const char png[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\xea\x60\0\0\xea\x60"
                              "\x08\x02\0\0\0\0\0\0\0";
    static const char line[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\x10\0\1"
                               "\x08\x02\0\0\0\0\0\0\0";
    struct image_limits limits = {.max_pixels = INT64_MAX, .max_bytes = 100000};
    struct image_decoder *d = image_decoder_new(NULL),
                         *loose = image_decoder_new(&limits);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};

    (void)state;
    assert_int_equal(decode_image(d, png, sizeof(png) - 1, NULL, &img, &why), -1);
    assert_non_null(strstr(why.buf, "60000 x 60000 pixels, more than the limit"));
    assert_int_equal(decode_image(loose, png, sizeof(png) - 1, NULL, &img, &why), -1);
    assert_int_equal(decode_image(d, line, sizeof(line) - 1, NULL, &img, &why), -1);
    assert_non_null(strstr(why.buf, "1 x 1048577 pixels, more than 1048576 on a side"));
    image_release(&img);
    strbuf_release(&why);
    image_decoder_free(d);
    image_decoder_free(loose);
}

static void bombs_are_refused(void **state)
{
    struct make_jpeg m = {.w = 64, .h = 48};
    struct image_limits limits = {.max_pixels = 64 * 48, .max_bytes = 100000};
    struct image_decoder *d = image_decoder_new(NULL),
                         *strict = image_decoder_new(&limits);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};
    size_t len;
    uint8_t *data = make_jpeg(&m, &len);

    (void)state;
    assert_int_equal(decode_image(strict, data, len, NULL, &img, &why), 0);
    memset(find_sof(data, len), 0xff, 4); /* 65535 x 65535: beyond libjpeg itself */
    assert_int_equal(decode_image(d, data, len, NULL, &img, &why), -1);
    memcpy(find_sof(data, len), "\x75\x30\x75\x30", 4); /* 30000 x 30000 */
    assert_int_equal(decode_image(d, data, len, NULL, &img, &why), -1);
    assert_non_null(strstr(why.buf, "30000 x 30000 pixels, more than the limit"));
    memcpy(find_sof(data, len), "\x00\x31\x00\x40", 4); /* one row too many */
    assert_int_equal(decode_image(strict, data, len, NULL, &img, &why), -1);
    limits.max_bytes = (int64_t)len - 1;
    image_decoder_free(strict);
    strict = image_decoder_new(&limits);
    assert_int_equal(decode_image(strict, data, len, NULL, &img, &why), -1);
    assert_non_null(strstr(why.buf, "bytes, more than the limit"));
    free(data);
    image_release(&img);
    strbuf_release(&why);
    image_decoder_free(d);
    image_decoder_free(strict);
}

/* Cut at any byte. */
static void cut_files_fail(void **state)
{
    static const char *const names[] = {"rgb.avif", "rgba.avif", "rgb.jp2", "tiles.jp2",
                                        "lossy.j2k"};
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char *path = path_join("tests/golden/image_decode", names[i]);
        size_t len;
        char *data = file_read(path, &len);

        assert_int_equal(decode_image(d, data, len, NULL, &img, &why), 0);
        for (size_t cut = 1; cut < len; cut += cut + 40 < len ? 3 : 1)
            if (decode_image(d, data, cut, NULL, &img, &why) == 0)
                fail_msg("%s is read from %zu of its %zu bytes", names[i], cut, len);
        free(path);
        free(data);
    }
    image_release(&img);
    strbuf_release(&why);
    image_decoder_free(d);
}

/* A codestream with missing tiles, which OpenJPEG replaces by black ones. */
static void tiles_that_miss_are_found(void **state)
{
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};
    size_t len;
    char *data = file_read("tests/fuzz/corpus/image/no_tiles.j2k", &len);

    (void)state;
    assert_int_equal(decode_image(d, data, len, NULL, &img, &why), -1);
    assert_non_null(strstr(why.buf, "are not there"));
    free(data);
    image_release(&img);
    strbuf_release(&why);
    image_decoder_free(d);
}

/* Random damage: any outcome is allowed, but no crash and no leak, and the decoder works
 * afterwards. */
static void noise_does_no_harm(void **state)
{
    struct image_limits limits = {.max_pixels = 1 << 20};
    struct image_decoder *d = image_decoder_new(&limits);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};
    int failed = 0, n;
    char **name = dir_list("tests/golden/image_decode", &n);

    (void)state;
    for (int f = 0; f < n; f++) {
        char *path = path_join("tests/golden/image_decode", name[f]);
        size_t len;
        char *data = file_read(path, &len), *copy = xmalloc(len);

        for (uint64_t i = 0; i < 60; i++) {
            struct philox v = philox(3, PHILOX_TEST, (uint64_t)f, i);

            memcpy(copy, data, len);
            for (int k = 0; k < 3; k++)
                copy[philox_below(v.v[k], (uint32_t)len)] = (char)(v.v[3] >> (8 * k));
            failed += decode_image(d, copy, len, NULL, &img, &why) < 0;
        }
        free(copy);
        free(data);
        free(path);
    }
    assert_true(failed > 100);
    dir_list_free(name, n);
    image_release(&img);
    strbuf_release(&why);
    image_decoder_free(d);
}

/* The components that a JPEG 2000 header claims are rejected before memory is
 * allocated. */
static void many_components_fail(void **state)
{
    enum { SIZ_LENGTH = 4, COUNT = 40, FIRST = 42, MORE = 9000 };
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    size_t len, pos;
    char *data = file_read("tests/golden/image_decode/lossy.j2k", &len);
    uint8_t *many = xcalloc(len + 3 * (size_t)MORE, 1);
    int n = (uint8_t)data[COUNT + 1] + MORE,
        siz = (uint8_t)data[SIZ_LENGTH + 1] + 3 * MORE;
    int w, h;

    (void)state;
    pos = FIRST + 3 * (size_t)(uint8_t)data[COUNT + 1];
    memcpy(many, data, pos);
    for (int i = 0; i < MORE; i++)
        memcpy(many + pos + 3 * (size_t)i, "\7\1\1", 3);
    memcpy(many + pos + 3 * (size_t)MORE, data + pos, len - pos);
    many[COUNT] = (uint8_t)(n >> 8);
    many[COUNT + 1] = (uint8_t)n;
    many[SIZ_LENGTH] = (uint8_t)(siz >> 8);
    many[SIZ_LENGTH + 1] = (uint8_t)siz;
    assert_int_equal(image_decoder_open(d, many, len + 3 * (size_t)MORE, &w, &h, &why),
                     -1);
    assert_non_null(strstr(why.buf, "components, more than 4"));
    strbuf_release(&why);
    image_decoder_free(d);
    free(many);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(truncated_fails),
        cmocka_unit_test(not_images_fail),
        cmocka_unit_test(damaged_png_fails),
        cmocka_unit_test(cut_off_fails),
        cmocka_unit_test(bmp_colors_beyond_the_palette_are_black),
        cmocka_unit_test(png_bombs_are_refused),
        cmocka_unit_test(bombs_are_refused),
        cmocka_unit_test(noise_does_no_harm),
        cmocka_unit_test(png_ends_at_its_end),
        cmocka_unit_test(cut_files_fail),
        cmocka_unit_test(tiles_that_miss_are_found),
        cmocka_unit_test(many_components_fail),
    };

    return cmocka_run_group_tests_name("image_damaged", tests, NULL, NULL);
}
