/* Decoding: every kind of image against Pillow, and parts against the whole. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/philox.h"
#include "image/image.h"
#include "tests/image/decode_image.h"
#include "tests/image/make_jpeg.h"
#include "tests/test.h"

static void decode_equals_pillow(void **state)
{
    const char *dir = "tests/golden/image_decode";
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};
    int n, compared = 0;
    char **name = dir_list(dir, &n);
    size_t before_len; /* has its own tables, which later files must not use */
    char *before = file_read("tests/golden/image_decode/progressive.jpg", &before_len);

    (void)state;
    for (int i = 0; i < n; i++) {
        char *path = path_join(dir, name[i]), *rgb = xasprintf("%s.rgb", path);
        bool jpeg =
            strcmp(path_extension(path), ".jpg") == 0 || strncmp(name[i], "jpeg", 4) == 0;
        size_t len, rgb_len;
        char *data = file_read(path, &len), *want = file_read(rgb, &rgb_len);

        if (want) {
            int32_t size[2];

            memcpy(size, want, sizeof(size));
            assert_int_equal(decode_image(d, before, before_len, NULL, &img, &why), 0);
            if (decode_image(d, data, len, NULL, &img, &why) < 0)
                fail_msg("%s: %s", name[i], why.buf);
            assert_int_equal(img.w, size[0]);
            assert_int_equal(img.h, size[1]);
            for (int k = 0; k < img.w * img.h * 3; k++)
                if (!(abs(img.pixel[k] - (uint8_t)want[8 + k]) <= (jpeg ? 1 : 0)))
                    fail_msg("%s: byte %d is %d, not %d", name[i], k, img.pixel[k],
                             (uint8_t)want[8 + k]);
            if (!jpeg)
                decode_check_parts(data, len, (uint64_t)i);
            compared++;
        }
        free(path);
        free(rgb);
        free(data);
        free(want);
    }
    assert_int_equal(compared, 130);
    free(before);
    dir_list_free(name, n);
    image_release(&img);
    strbuf_release(&why);
    image_decoder_free(d);
}

/* Checks 40 random parts of one file against the same pixels of the whole image. */
static void check_parts(const uint8_t *data, size_t len, int shrink, uint64_t salt)
{
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image whole = {0}, img = {0};
    int w, h;

    assert_int_equal(image_decoder_open(d, data, len, &w, &h, &why), 0);
    for (uint64_t i = 0; i < 41; i++) {
        struct philox v = philox(7, PHILOX_TEST, salt, i);
        struct image_part p = {0, 0, w, h, shrink};

        if (i > 0) { /* the first is the whole */
            p.x = (int)philox_below(v.v[0], (uint32_t)w);
            p.y = (int)philox_below(v.v[1], (uint32_t)h);
            p.w = 1 + (int)philox_below(v.v[2], (uint32_t)(w - p.x));
            p.h = 1 + (int)philox_below(v.v[3], (uint32_t)(h - p.y));
        }
        if (decode_image(d, data, len, &p, i ? &img : &whole, &why) < 0)
            fail_msg("part %d,%d %dx%d: %s", p.x, p.y, p.w, p.h, why.buf);
        for (int y = p.y / shrink; i > 0 && y < (p.y + p.h + shrink - 1) / shrink; y++) {
            int x0 = p.x / shrink, x1 = (p.x + p.w + shrink - 1) / shrink;

            assert_true(img.x <= x0 && img.x + img.w >= x1);
            if (memcmp(img.pixel + (size_t)(y - img.y) * img.stride + (x0 - img.x) * 3,
                       whole.pixel + (size_t)y * whole.stride + x0 * 3,
                       (size_t)(x1 - x0) * 3) != 0)
                fail_msg("1/%d: part %d,%d %dx%d differs in row %d", shrink, p.x, p.y,
                         p.w, p.h, y);
        }
    }
    image_release(&whole);
    image_release(&img);
    strbuf_release(&why);
    image_decoder_free(d);
}

static const struct make_jpeg kinds[] = {
    {.w = 173, .h = 131},
    {.w = 173, .h = 131, .h_factor = 1, .v_factor = 1},
    {.w = 160, .h = 128, .h_factor = 2, .v_factor = 1},
    {.w = 97, .h = 131, .h_factor = 1, .v_factor = 2},
    {.w = 173, .h = 70, .h_factor = 4, .v_factor = 1},
    {.w = 100, .h = 90, .h_factor = 4, .v_factor = 2},
    {.w = 173, .h = 131, .progressive = 1},
    {.w = 90, .h = 80, .arithmetic = 1},
    {.w = 120, .h = 75, .cmyk = 1},
    {.w = 120, .h = 75, .cmyk = 2},
    {.w = 17, .h = 19},
    {.w = 1, .h = 1},
};

static void parts_equal_the_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        size_t len;
        uint8_t *data = make_jpeg(&kinds[i], &len);

        for (int shrink = 1; shrink <= 8; shrink *= 2)
            check_parts(data, len, shrink, i);
        free(data);
    }
}

static void parts_of_png(void **state)
{
    size_t len;
    char *data = file_read("tests/golden/image_decode/rgb.png", &len);

    (void)state;
    check_parts((const uint8_t *)data, len, 1, 99);
    free(data);
}

/* With boxes, with tiles and an offset, and with lossy coefficients. */
static void parts_of_jpeg_2000(void **state)
{
    static const char *const names[] = {"rgb.jp2", "tiles.jp2", "lossy.j2k", "rgb.avif"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char *path = path_join("tests/golden/image_decode", names[i]);
        size_t len;
        char *data = file_read(path, &len);

        check_parts((const uint8_t *)data, len, 1, 200 + i);
        free(path);
        free(data);
    }
}

static void ycck_equals_cmyk(void **state)
{
    struct make_jpeg m = {.w = 64, .h = 48, .quality = 100, .cmyk = 1};
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image a = {0}, b = {0};
    size_t alen, blen;
    uint8_t *adata = make_jpeg(&m, &alen), *bdata;
    long sum = 0;

    (void)state;
    m.cmyk = 2;
    m.h_factor = m.v_factor = 1;
    bdata = make_jpeg(&m, &blen);
    assert_int_equal(decode_image(d, adata, alen, NULL, &a, &why), 0);
    assert_int_equal(decode_image(d, bdata, blen, NULL, &b, &why), 0);
    for (int i = 0; i < 64 * 48 * 3; i++)
        sum += abs(a.pixel[i] - b.pixel[i]);
    assert_true(sum < 64 * 48 * 3 * 2);
    free(adata);
    free(bdata);
    image_release(&a);
    image_release(&b);
    strbuf_release(&why);
    image_decoder_free(d);
}

/* A BMP with negative height: the same rows from the top down. */
static void bmp_rows_go_down(void **state)
{
    struct image_decoder *d = image_decoder_new(NULL);
    struct image up = {0}, down = {0};
    struct strbuf why = STRBUF_INIT;
    size_t len;
    char *data = file_read("tests/golden/image_decode/rgb.bmp", &len);
    int32_t h;

    (void)state;
    assert_int_equal(decode_image(d, data, len, NULL, &up, &why), 0);
    memcpy(&h, data + 22, 4);
    h = -h;
    memcpy(data + 22, &h, 4);
    if (decode_image(d, data, len, NULL, &down, &why))
        fail_msg("%s", why.buf);
    assert_int_equal(down.h, up.h);
    for (int y = 0; y < up.h; y++)
        assert_memory_equal(up.pixel + (size_t)y * up.stride,
                            down.pixel + (size_t)(up.h - 1 - y) * down.stride, up.stride);
    free(data);
    image_release(&up);
    image_release(&down);
    strbuf_release(&why);
    image_decoder_free(d);
}

/* Maxima other than 255, of one byte and of two; comments in the header. */
static void pnm_values(void **state)
{
    static const struct {
        const char *data;
        size_t len;
        uint8_t want[6];
    } cases[] = {
        {"P5 2 1 255\n\x07\xff", 13, {7, 7, 7, 255, 255, 255}},
        {"P5#a\n2 #b\n 1 3 \1\3", 17, {85, 85, 85, 255, 255, 255}},
        {"P5\n2 1\n65535\n\x80\0\xff\xff", 17, {128, 128, 128, 255, 255, 255}},
        {"P6\n2 1\n300\n\0\0\0\x96\1\x2c\1\x2c\0\x96\0\0",
         23,
         {0, 128, 255, 255, 128, 0}},
        {"P6 2 1 9 \0\3\t\xff\3\0", 15, {0, 85, 255, 255, 85, 0}},
    };
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *copy = xmemdup(cases[i].data, cases[i].len);

        if (decode_image(d, copy, cases[i].len, NULL, &img, &why))
            fail_msg("case %zu: %s", i, why.buf);
        assert_int_equal(img.w, 2);
        assert_int_equal(img.h, 1);
        assert_memory_equal(img.pixel, cases[i].want, 6);
        assert_int_equal(decode_image(d, copy, cases[i].len - 1, NULL, &img, &why), -1);
        free(copy);
    }
    image_release(&img);
    strbuf_release(&why);
    image_decoder_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decode_equals_pillow), cmocka_unit_test(parts_equal_the_whole),
        cmocka_unit_test(parts_of_png),         cmocka_unit_test(parts_of_jpeg_2000),
        cmocka_unit_test(ycck_equals_cmyk),     cmocka_unit_test(bmp_rows_go_down),
        cmocka_unit_test(pnm_values),
    };

    return cmocka_run_group_tests_name("image_decode", tests, NULL, NULL);
}
