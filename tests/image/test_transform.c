/* Whole transforms: compared with torchvision, with slow code, and with themselves. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "image/enhance.h"
#include "image/transformer.h"
#include "tests/image/image_formula.h"
#include "tests/image/make_jpeg.h"
#include "tests/test.h"

static void center_equals_torchvision(void **state)
{
    size_t len, pos = 0;
    char *data = file_read("tests/golden/image_center/torchvision.bin", &len);
    struct transformer m;
    struct image img = {0};
    int cases = 0;

    (void)state;
    assert_non_null(data);
    transformer_init(&m, NULL);
    for (; pos < len; cases++) {
        struct {
            int32_t w, h, resize, crop;
        } c;
        uint8_t out[64 * 64 * 3];
        struct transform t;
        struct augment_key key = {0, 0, 0};

        memcpy(&c, data + pos, sizeof(c));
        pos += sizeof(c);
        t = transform_for_evaluation(c.crop, c.resize);
        image_formula(&img, c.w, c.h);
        transform_image(&m, &t, &key, &img, out);
        for (int i = 0; i < c.crop * c.crop * 3; i++, pos++)
            if (!(abs(out[i] - (uint8_t)data[pos]) <= 1))
                fail_msg("%dx%d to %d, crop %d: byte %d is %d, not %d", c.w, c.h,
                         c.resize, c.crop, i, out[i], (uint8_t)data[pos]);
    }
    assert_int_equal(cases, 7);
    free(data);
    image_release(&img);
    transformer_release(&m);
}

/* The crops of a corner are windows of the whole image; bottom right of one smaller than
 * the crop has the borders of the center. */
static void corners_are_windows(void **state)
{
    enum { W = 61, H = 44, CROP = 32 };
    static const int ptr[CORNERS][2] = {
        {14, 6}, {0, 0}, {W - CROP, 0}, {0, H - CROP}, {W - CROP, H - CROP}};
    struct augment_key key = {0, 0, 0};
    struct transform t = transform_for_evaluation(CROP, H), small;
    static uint8_t out[48 * 48 * 3], center[48 * 48 * 3];
    struct transformer m;
    struct image img = {0};

    (void)state;
    transformer_init(&m, NULL);
    image_formula(&img, W, H);
    for (int c = 0; c < CORNERS; c++) {
        t.corner = (enum transform_corner)c;
        transform_image(&m, &t, &key, &img, out);
        for (int y = 0; y < CROP; y++)
            assert_memory_equal(out + 3 * CROP * y,
                                img.pixel + (size_t)(y + ptr[c][1]) * img.stride +
                                    3 * (size_t)ptr[c][0],
                                3 * CROP);
    }
    small = transform_for_evaluation(48, 20);
    transform_image(&m, &small, &key, &img, center);
    small.corner = CORNER_BOTTOM_RIGHT;
    transform_image(&m, &small, &key, &img, out);
    assert_memory_equal(out, center, sizeof(out));
    image_release(&img);
    transformer_release(&m);
}

/* Its longer side would have 4096 * 2^20 pixels. */
static void a_line_is_cut_short(void **state)
{
    struct transform t = transform_for_evaluation(32, 4096);
    struct augment_key key = {0, 0, 0};
    uint8_t out[32 * 32 * 3];
    struct image img = {0};
    struct transformer m;

    (void)state;
    transformer_init(&m, NULL);
    image_resize_reserve(&img, 1, 1 << 20);
    memset(img.pixel, 77, img.cap);
    transform_image(&m, &t, &key, &img, out);
    for (int i = 0; i < 32 * 32 * 3; i++)
        assert_int_equal(out[i], 77);
    assert_true(transform_min_shrink(&t, 1, 1 << 20) == 1);
    image_release(&img);
    transformer_release(&m);
}

/* Decoding a part of the file equals decoding all of it first. */
static void file_equals_image(void **state)
{
    struct make_jpeg jpeg = {.w = 211, .h = 160};
    size_t len, n = 48 * 48 * 3;
    uint8_t *data = make_jpeg(&jpeg, &len), *a = xmalloc(n), *b = xmalloc(n);
    struct transform t[4] = {
        transform_for_training(48),
        transform_for_evaluation(48, 56),
        transform_for_small_training(48),
        {.kind = TRANSFORM_STRETCH, .w = 48, .h = 48, .filter = RESIZE_BILINEAR},
    };
    struct transformer m;
    struct image whole = {0};
    struct strbuf why = STRBUF_INIT;
    int w, h;

    (void)state;
    transformer_init(&m, NULL);
    assert_int_equal(image_decoder_open(m.decoder, data, len, &w, &h, &why), 0);
    assert_int_equal(image_decoder_read(m.decoder, NULL, &whole, &why), 0);
    t[0].jitter[0] = t[0].jitter[1] = t[0].jitter[2] = 0.4;
    for (int i = 0; i < 4; i++) {
        t[i].shrink_gap = 0;
        for (int s = 0; s < 60; s++) {
            struct augment_key key = {5, 1, s};

            t[i].filter_random = s % 2;
            assert_int_equal(transform_file(&m, &t[i], &key, data, len, a, &why), 0);
            transform_image(&m, &t[i], &key, &whole, b);
            assert_memory_equal(a, b, n);
        }
    }
    free(a);
    free(b);
    free(data);
    image_release(&whole);
    transformer_release(&m);
}

/* Images are decoded at reduced size where allowed, with small differences. */
static void shrinking_changes_little(void **state)
{
    struct make_jpeg jpeg = {.w = 640, .h = 480};
    size_t len, n = 48 * 48 * 3;
    uint8_t *data = make_jpeg(&jpeg, &len), *a = xmalloc(n), *b = xmalloc(n);
    struct transform full = transform_for_evaluation(48, 56), shrunk = full;
    struct augment_key key = {0, 0, 0};
    struct transformer m;
    struct strbuf why = STRBUF_INIT;
    long sum = 0;

    (void)state;
    transformer_init(&m, NULL);
    full.shrink_gap = 0;
    assert_true(transform_min_shrink(&full, 640, 480) == 1);
    assert_true(transform_min_shrink(&shrunk, 640, 480) > 1);
    assert_true(transform_min_shrink(&shrunk, 220, 220) == 1);
    assert_int_equal(transform_file(&m, &full, &key, data, len, a, &why), 0);
    assert_int_equal(transform_file(&m, &shrunk, &key, data, len, b, &why), 0);
    assert_true(m.image.w < 640); /* it was shrunk */
    for (size_t i = 0; i < n; i++)
        sum += abs(a[i] - b[i]);
    assert_true(sum > 0 && sum < 2 * (long)n);
    free(a);
    free(b);
    free(data);
    transformer_release(&m);
}

/* Both sides must be long enough; the last pixel of an odd side counts, too. */
static void shrinking_looks_at_both_sides(void **state)
{
    struct make_jpeg jpeg = {.w = 641, .h = 481};
    struct transform t = {.kind = TRANSFORM_STRETCH,
                          .w = 48,
                          .h = 48,
                          .filter = RESIZE_BICUBIC,
                          .shrink_gap = 2};
    struct augment_key key = {0, 0, 0};
    uint8_t *data, out[48 * 48 * 3];
    struct transformer m;
    struct strbuf why = STRBUF_INIT;
    size_t len;

    (void)state;
    assert_true(transform_min_shrink(&t, 640, 192) > 1);
    assert_true(transform_min_shrink(&t, 640, 191) == 1);
    assert_true(transform_min_shrink(&t, 191, 640) == 1);
    data = make_jpeg(&jpeg, &len);
    transformer_init(&m, NULL);
    assert_int_equal(transform_file(&m, &t, &key, data, len, out, &why), 0);
    assert_int_equal(m.image.w, 161);
    assert_int_equal(m.image.h, 121);
    free(data);
    transformer_release(&m);
}

/* Returns pixel (x, y) of the padded and cropped image, computed slowly. */
static void pad_crop_is_what_it_says(void **state)
{
    struct transform t = transform_for_small_training(32);
    struct transformer m;
    struct image img = {0};
    uint8_t out[32 * 32 * 3];
    int seen[9][9] = {{0}}, flips = 0, places = 0;

    (void)state;
    transformer_init(&m, NULL);
    image_formula(&img, 32, 32);
    for (int s = 0; s < 2000; s++) {
        struct augment_key key = {9, 2, s};
        struct philox r = augment_draw(&key, AUGMENT_CROP, 0);
        int x0 = augment_integer(r.v[0], 0, 8), y0 = augment_integer(r.v[1], 0, 8);
        bool flip = augment_flip(&key, &t.flip);

        transform_image(&m, &t, &key, &img, out);
        for (int i = 0; i < 32 * 32; i++) {
            int x = (flip ? 31 - i % 32 : i % 32) + x0 - 4, y = i / 32 + y0 - 4;
            bool inside = x >= 0 && x < 32 && y >= 0 && y < 32;

            for (int c = 0; c < 3; c++)
                assert_int_equal(out[3 * i + c],
                                 inside ? img.pixel[(y * 32 + x) * 3 + c] : 0);
        }
        flips += flip;
        places += seen[y0][x0]++ == 0;
    }
    assert_int_equal(places, 81);
    assert_true(flips > 900 && flips < 1100);
    image_release(&img);
    transformer_release(&m);
}

/* An image that does not cover the crop is enlarged as in evaluation. */
static void pad_crop_enlarges(void **state)
{
    struct transform t = {
        .kind = TRANSFORM_PAD_CROP, .w = 16, .h = 16, .filter = RESIZE_BICUBIC};
    struct transform whole = transform_for_evaluation(16, 16);
    struct augment_key key = {0, 0, 0};
    uint8_t out[16 * 16 * 3], want[16 * 16 * 3];
    struct image img = {0};
    struct transformer m;

    (void)state;
    transformer_init(&m, NULL);
    image_formula(&img, 8, 8);
    transform_image(&m, &whole, &key, &img, want);
    transform_image(&m, &t, &key, &img, out);
    assert_memory_equal(out, want, sizeof(out));
    for (int i = 0; i < 50; i++) { /* one side too small, the other large enough */
        image_formula(&img, 15, 40);
        t.pad = 2;
        transform_image(&m, &t, &(struct augment_key){0, 0, i}, &img, out);
    }
    image_release(&img);
    transformer_release(&m);
}

/* An image in the cache has enough resolution for the smallest crop. */
static void least_shrink_of_crops(void **state)
{
    struct transform t = transform_for_training(112);

    (void)state;
    assert_int_equal(transform_min_shrink(&t, 500, 375), 1);
    t.scale[0] = 0.35;
    assert_int_equal(transform_min_shrink(&t, 500, 375), 1);
    assert_int_equal(transform_min_shrink(&t, 1500, 1125), 2); /* 666 x 666 of them */
    t.scale[0] = 1;
    assert_int_equal(transform_min_shrink(&t, 1500, 1125), 4);
}

/* Padding wider than the image. */
static void pad_crop_of_a_tiny_image(void **state)
{
    struct transform t = {
        .kind = TRANSFORM_PAD_CROP, .w = 8, .h = 8, .pad = 10, .flip = {0.5, false}};
    struct transformer m;
    struct image img = {0};
    uint8_t out[8 * 8 * 3];
    int black = 0;

    (void)state;
    transformer_init(&m, NULL);
    image_formula(&img, 2, 3);
    for (int s = 0; s < 300; s++) {
        struct augment_key key = {1, 0, s};
        int sum = 0;

        transform_image(&m, &t, &key, &img, out);
        for (size_t i = 0; i < sizeof(out); i++)
            sum += out[i];
        black += sum == 0;
    }
    assert_true(black > 0 && black < 300);
    image_release(&img);
    transformer_release(&m);
}

/* The padding mode reaches the crop. */
static void pad_crop_has_its_mode(void **state)
{
    struct transform t = transform_for_small_training(32);
    struct transformer m;
    struct image img = {0};
    uint8_t out[32 * 32 * 3], want[32 * 32 * 3];

    (void)state;
    transformer_init(&m, NULL);
    image_formula(&img, 32, 32);
    t.pad_mode = PAD_REFLECT;
    for (int s = 0; s < 20; s++) {
        struct augment_key key = {9, 2, s};
        struct philox r = augment_draw(&key, AUGMENT_CROP, 0);
        struct pad_crop c = {.mode = PAD_REFLECT, .w = 32, .h = 32};

        c.x = augment_integer(r.v[0], 0, 8) - 4;
        c.y = augment_integer(r.v[1], 0, 8) - 4;
        c.flip = augment_flip(&key, &t.flip);
        pad_crop(&img, &c, want);
        transform_image(&m, &t, &key, &img, out);
        assert_memory_equal(out, want, sizeof(out));
    }
    image_release(&img);
    transformer_release(&m);
}

/* Brightness, contrast, and saturation by the drawn factors, in their order. */
static void jitter_is_what_was_drawn(void **state)
{
    static void (*const change[])(uint8_t *, size_t, float) = {
        enhance_brightness, enhance_contrast, enhance_color};
    struct transform t = {.kind = TRANSFORM_STRETCH, .w = 8, .h = 8};
    struct transformer m;
    struct image img = {0};
    uint8_t out[8 * 8 * 3], want[8 * 8 * 3];

    (void)state;
    transformer_init(&m, NULL);
    image_formula(&img, 8, 8);
    for (int s = 0; s < 60; s++) {
        struct augment_key key = {4, 0, s};
        struct augment_jitter j;

        memset(t.jitter, 0, sizeof(t.jitter));
        transform_image(&m, &t, &key, &img, want);
        for (int i = 0; i < 3; i++)
            t.jitter[i] = 0.3 + 0.1 * i;
        transform_image(&m, &t, &key, &img, out);
        j = augment_jitter(&key, t.jitter);
        for (int i = 0; i < 3; i++)
            change[j.order[i]](want, 64, j.factor[j.order[i]]);
        assert_memory_equal(out, want, sizeof(out));
    }
    image_release(&img);
    transformer_release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(center_equals_torchvision),
        cmocka_unit_test(corners_are_windows),
        cmocka_unit_test(a_line_is_cut_short),
        cmocka_unit_test(file_equals_image),
        cmocka_unit_test(shrinking_changes_little),
        cmocka_unit_test(shrinking_looks_at_both_sides),
        cmocka_unit_test(pad_crop_is_what_it_says),
        cmocka_unit_test(pad_crop_of_a_tiny_image),
        cmocka_unit_test(pad_crop_enlarges),
        cmocka_unit_test(least_shrink_of_crops),
        cmocka_unit_test(pad_crop_has_its_mode),
        cmocka_unit_test(jitter_is_what_was_drawn),
    };

    return cmocka_run_group_tests_name("image_transform", tests, NULL, NULL);
}
