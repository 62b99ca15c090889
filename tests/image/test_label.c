/* Label maps: indices and grays of every depth, rejected files, damaged files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/failure.h"
#include "base/file.h"
#include "image/encode.h"
#include "image/label.h"
#include "tests/test.h"

enum { W = 23, H = 17 };

static int formula(int x, int y, int bits)
{
    return (x * 3 + y * 7 + x * y % 5) % (1 << bits);
}

static void read_every_depth(void **state)
{
    static const char *const name[] = {"g1", "g2", "g4",  "g8",  "p1",  "p2",
                                       "p4", "p8", "p1i", "p2i", "p4i", "p8i"};
    struct label_reader r = {0};
    struct strbuf why = STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
        char *path = xasprintf("tests/golden/image_label/%s.png", name[i]);
        size_t len;
        char *data = file_read(path, &len);

        assert_non_null(data);
        if (label_read(&r, data, len, NULL, &why) < 0)
            fail_msg("%s: %s", path, why.buf);
        assert_int_equal(r.w, W);
        assert_int_equal(r.h, H);
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++)
                if (r.pixel[y * W + x] != formula(x, y, name[i][1] - '0'))
                    fail_msg("%s: (%d, %d) is %d", path, x, y, r.pixel[y * W + x]);
        free(data);
        free(path);
    }
    label_reader_release(&r);
}

static void refuse(const char *path, const char *reason)
{
    struct label_reader r = {0};
    struct strbuf why = STRBUF_INIT;
    size_t len;
    char *data = file_read(path, &len);

    assert_non_null(data);
    assert_int_equal(label_read(&r, data, len, NULL, &why), -1);
    if (!strstr(why.buf, reason))
        fail_msg("%s: '%s' does not say '%s'", path, why.buf, reason);
    strbuf_release(&why);
    label_reader_release(&r);
    free(data);
}

static void refuse_as_colors(const char *path)
{
    struct label_reader r = {0};
    struct strbuf why = STRBUF_INIT;
    size_t len;
    char *data = file_read(path, &len);

    assert_non_null(data);
    assert_int_equal(label_decode_colors(&r, data, len, NULL, &why), FAILURE_DATA);
    assert_string_equal(why.buf, label_deep_reason);
    strbuf_release(&why);
    label_reader_release(&r);
    free(data);
}

/* The message names the kind of file. */
static void refuse_colors(void **state)
{
    (void)state;
    refuse("tests/golden/image_decode/rgb.png", "an RGB image, where gray levels");
    refuse("tests/golden/image_decode/rgba.png", "an RGBA image");
    refuse("tests/golden/image_decode/grayalpha.png", "a gray image with alpha");
    refuse("tests/golden/image_decode/gray16.png", "a 16-bit gray image");
    refuse("tests/golden/image_decode/rgb16.png", "an RGB image");
    refuse("tests/golden/image_decode/rgb.jpg",
           "JPEG, which changes class values: label maps must be PNGs");
    refuse("tests/golden/image_decode/rgb.bmp", "BMP, not a PNG");
}

/* Reading them as colors would drop the low byte, so that classes 1 to 255 become 0. */
static void refuse_deep(void **state)
{
    static const char pgm[] = "P2\n1 1\n65535\n3\n";
    struct label_reader r = {0};
    struct strbuf why = STRBUF_INIT;

    (void)state;
    refuse("tests/golden/image_label/deep.jp2", label_deep_reason);
    refuse_as_colors("tests/golden/image_label/deep.jp2");
    refuse_as_colors("tests/golden/image_decode/gray16.png");
    refuse_as_colors("tests/golden/image_decode/rgb16.png");
    refuse_as_colors("tests/golden/image_decode/deep.ppm");
    assert_int_equal(label_decode_colors(&r, pgm, sizeof(pgm) - 1, NULL, &why),
                     FAILURE_DATA);
    assert_string_equal(why.buf, label_deep_reason);
    strbuf_release(&why);
    label_reader_release(&r);
}

static void refuse_damage(void **state)
{
    const char *const path = "tests/golden/image_label/p8i.png";
    struct label_reader r = {0};
    struct strbuf why = STRBUF_INIT;
    struct image_limits few = {.max_pixels = W * H - 1}, small = {.max_bytes = 100};
    size_t len;
    char *data = file_read(path, &len), *copy;

    (void)state;
    assert_non_null(data);
    for (size_t n = 0; n < len - 12; n++) { /* everything but the end mark is needed */
        copy = xmemdup(data, n ? n : 1);    /* so that reading past the end is detected */
        if (label_read(&r, copy, n, NULL, &why) == 0)
            fail_msg("read from its first %zu bytes", n);
        free(copy);
    }
    for (size_t n = 0; n < len; n++) {
        data[n] = (char)(data[n] ^ 0x10);
        (void)label_read(&r, data, len, NULL, &why); /* the result does not matter */
        data[n] = (char)(data[n] ^ 0x10);
    }
    data[len - 20] = (char)(data[len - 20] ^ 1);
    assert_int_equal(label_read(&r, data, len, NULL, &why), -1); /* in the values */
    data[len - 20] = (char)(data[len - 20] ^ 1);
    strbuf_reset(&why);
    assert_int_equal(label_read(&r, data, len, &few, &why), -1);
    assert_string_equal(why.buf,
                        "the header says 23 x 17 pixels, more than the limit of 390");
    strbuf_reset(&why);
    assert_int_equal(label_read(&r, data, len, &small, &why), -1);
    assert_non_null(strstr(why.buf, "more than the limit of 100"));
    strbuf_release(&why);
    label_reader_release(&r);
    free(data);
}

static void written_is_read(void **state)
{
    static const uint8_t palette[3 * 256] = {1, 2, 3, 9, 9, 9};
    uint8_t v[31 * 7];
    struct label_reader r = {0};
    struct strbuf why = STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof(v); i++)
        v[i] = (uint8_t)(i * 13);
    for (int pass = 0; pass < 2; pass++) {
        struct png_bitmap p = {.pixel = v,
                               .w = 31,
                               .h = 7,
                               .channels = 1,
                               .palette = pass ? palette : NULL,
                               .colors = 256};
        size_t len;
        unsigned char *data = png_encode(&p, &len);

        assert_int_equal(label_read(&r, data, len, NULL, &why), 0);
        assert_int_equal(r.w, 31);
        assert_memory_equal(r.pixel, v, sizeof(v));
        free(data);
    }
    label_reader_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_every_depth), cmocka_unit_test(refuse_colors),
        cmocka_unit_test(refuse_deep),      cmocka_unit_test(refuse_damage),
        cmocka_unit_test(written_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
