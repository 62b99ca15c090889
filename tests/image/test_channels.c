/* Images of other channels than RGB: decoded, refused, and through transforms. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "image/transformer.h"
#include "tests/test.h"

static char *golden(const char *name, const char *end, size_t *len)
{
    char *path = xasprintf("tests/golden/image_channels/%s%s", name, end),
         *data = file_read(path, len);

    if (!data)
        fail_msg("no file '%s'", path);
    free(path);
    return data;
}

static int decode(const char *name, int channels, const struct image_part *part,
                  struct image *img, struct strbuf *why)
{
    struct image_decoder *d = image_decoder_new(NULL);
    int w, h, rc;
    size_t len;
    char *data = golden(name, "", &len);

    image_decoder_channels(d, channels);
    rc = image_decoder_open(d, data, len, &w, &h, why);
    if (rc == 0)
        rc = image_decoder_read(d, part, img, why);
    image_decoder_free(d);
    free(data);
    return rc;
}

static const char *const files[] = {"gray.png",     "gray_of_rgba.png", "alpha.png",
                                    "rgba.png",     "rgba.tif",         "pages.tif",
                                    "bit_page.tif", "samples.tif",      "planes.tif"};

enum { FILES = sizeof(files) / sizeof(files[0]) };

/* The whole and a part of it. */
static void check_file(const char *name)
{
    size_t len;
    char *data = golden(name, ".bin", &len);
    struct image_part part = {5, 3, 9, 11, 1};
    struct image all = {0}, some = {0};
    struct strbuf why = STRBUF_INIT;
    int32_t head[3];

    memcpy(head, data, sizeof(head));
    if (decode(name, head[2], NULL, &all, &why))
        fail_msg("%s: %s", name, why.buf);
    assert_int_equal(all.w, head[0]);
    assert_int_equal(all.h, head[1]);
    assert_int_equal(all.channels, head[2]);
    assert_int_equal(all.stride, (size_t)head[0] * (size_t)head[2]);
    if (memcmp(all.pixel, data + sizeof(head), all.stride * (size_t)all.h) != 0)
        fail_msg("%s: other pixels", name);
    assert_int_equal(decode(name, head[2], &part, &some, &why), 0);
    for (int y = 0; y < part.h; y++)
        assert_memory_equal(some.pixel + (size_t)y * some.stride,
                            all.pixel + (size_t)(part.y + y) * all.stride +
                                (size_t)(part.x * head[2]),
                            (size_t)(part.w * head[2]));
    image_release(&all);
    image_release(&some);
    free(data);
}

static void test_decode(void **state)
{
    (void)state;
    for (int i = 0; i < FILES; i++)
        check_file(files[i]);
}

static void test_refuse(void **state)
{
    static const struct {
        const char *name;
        int channels;
        const char *why;
    } rows[] = {
        {"gray.png", 4, "it has 3 channels, and MODEL.IN_CHANS is 4"},
        {"rgba.png", 2, "it has 4 channels, and MODEL.IN_CHANS is 2"},
        {"rgba.tif", 5, "it has 4 channels, and MODEL.IN_CHANS is 5"},
        {"pages.tif", 4, "it has more than 4 pages, and MODEL.IN_CHANS is 4"},
        {"pages.tif", 7, "it has 5 pages, and MODEL.IN_CHANS is 7"},
        {"other_size.tif", 2, "page 2 has 22 x 17 pixels, and page 1 23 x 17"},
        {"color_page.tif", 2, "its pages are its channels, and one of them is not gray"},
        {"../image_decode/lossy.webp", 4,
         "a WebP is read as RGB, and MODEL.IN_CHANS is 4"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct strbuf why = STRBUF_INIT;
        struct image img = {0};

        assert_true(decode(rows[i].name, rows[i].channels, NULL, &img, &why) < 0);
        if (!strstr(why.buf, rows[i].why))
            fail_msg("%s: '%s', want '%s'", rows[i].name, why.buf, rows[i].why);
        strbuf_release(&why);
        image_release(&img);
    }
}

enum { BANDS = 5, SIDE = 16 };

static const struct augment_key key = {3, 1, 4};

/* Extracts one band as RGB. */
static void extract_band(const struct image *all, int band, struct image *rgb)
{
    image_resize_reserve(rgb, all->w, all->h);
    for (int i = 0; i < all->w * all->h; i++)
        memset(rgb->pixel + 3 * (ptrdiff_t)i, all->pixel[i * BANDS + band], 3);
}

/* Each channel is transformed as if it were the only one. */
static void check_transform(struct transform t, const struct image *all)
{
    uint8_t out[SIDE * SIDE * BANDS], one[SIDE * SIDE * 3];
    struct transformer m;
    struct image rgb = {0};

    for (int c = 0; c < BANDS; c++)
        t.fill[c] = (uint8_t)(10 * c + 1);
    transformer_init(&m, NULL);
    t.channels = BANDS;
    transform_image(&m, &t, &key, all, out);
    for (int c = 0; c < BANDS; c++) {
        struct transform changed = t;

        changed.channels = 0;
        memset(changed.fill, t.fill[c], 3);
        extract_band(all, c, &rgb);
        transform_image(&m, &changed, &key, &rgb, one);
        for (int i = 0; i < SIDE * SIDE; i++)
            assert_int_equal(out[i * BANDS + c], one[3 * i]);
    }
    image_release(&rgb);
    transformer_release(&m);
}

static void test_transform(void **state)
{
    struct transform segment = transform_for_segmentation(SIDE, SIDE);
    struct strbuf why = STRBUF_INIT;
    struct image all = {0};

    (void)state;
    assert_int_equal(decode("pages.tif", BANDS, NULL, &all, &why), 0);
    segment.factor[0] = 0.5;
    segment.factor[1] = 2;
    check_transform(transform_for_training(SIDE), &all);
    check_transform(transform_for_evaluation(SIDE, SIDE + 2), &all);
    check_transform(transform_for_small_training(SIDE), &all);
    check_transform(segment, &all);
    image_release(&all);
}

/* From the file, with a policy: equals RGB with three equal channels. */
static void test_gray(void **state)
{
    struct transform t = transform_for_training(SIDE);
    uint8_t out[SIDE * SIDE], rgb[SIDE * SIDE * 3];
    struct strbuf why = STRBUF_INIT;
    struct transformer m;
    struct image gray = {0}, three = {0};
    size_t len;
    char *data = golden("gray.png", "", &len);

    (void)state;
    assert_int_equal(policy_parse(&t.policy, "rand-m9-mstd0.5-inc1", &why), 0);
    transformer_init(&m, NULL);
    assert_int_equal(decode("gray.png", 1, NULL, &gray, &why), 0);
    image_resize_reserve(&three, gray.w, gray.h);
    for (int i = 0; i < gray.w * gray.h; i++)
        memset(three.pixel + 3 * (ptrdiff_t)i, gray.pixel[i], 3);
    transform_image(&m, &t, &key, &three, rgb);
    t.channels = 1;
    assert_int_equal(transform_file(&m, &t, &key, data, len, out, &why), 0);
    for (int i = 0; i < SIDE * SIDE; i++)
        for (int c = 0; c < 3; c++)
            assert_int_equal(out[i], rgb[3 * i + c]);
    image_release(&gray);
    image_release(&three);
    transformer_release(&m);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_refuse),
        cmocka_unit_test(test_transform),
        cmocka_unit_test(test_gray),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
