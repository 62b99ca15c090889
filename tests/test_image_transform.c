/* Crops, flips and whole transforms: against torchvision, against slow code, against
 * themselves, and in distribution. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "image/transform.h"
#include "image_formula.h"
#include "make_jpeg.h"

static void centre_equals_torchvision(void **state)
{
    size_t len, at = 0;
    char *data = file_read("tests/golden/image_centre/torchvision.bin", &len);
    struct transformer m;
    struct image img = {0};
    struct strbuf why = STRBUF_INIT;
    int cases = 0;

    (void)state;
    assert_non_null(data);
    transformer_init(&m, NULL);
    for (; at < len; cases++) {
        struct {
            int32_t w, h, resize, crop;
        } c;
        uint8_t out[64 * 64 * 3];
        struct transform t;
        struct augment_key key = {0, 0, 0};

        memcpy(&c, data + at, sizeof(c));
        at += sizeof(c);
        t = transform_for_evaluation(c.crop, c.resize);
        image_formula(&img, c.w, c.h);
        assert_int_equal(transform_image(&m, &t, &key, &img, out, &why), 0);
        for (int i = 0; i < c.crop * c.crop * 3; i++, at++)
            if (!(abs(out[i] - (uint8_t)data[at]) <= 1))
                fail_msg("%dx%d to %d, crop %d: byte %d is %d, not %d", c.w, c.h,
                         c.resize, c.crop, i, out[i], (uint8_t)data[at]);
    }
    assert_int_equal(cases, 7);
    free(data);
    image_release(&img);
    transformer_release(&m);
}

/* Its longer side would have 4096 * 2^20 pixels. */
static void a_line_is_cut_short(void **state)
{
    struct transform t = transform_for_evaluation(32, 4096);
    struct augment_key key = {0, 0, 0};
    struct strbuf why = STRBUF_INIT;
    uint8_t out[32 * 32 * 3];
    struct image img = {0};
    struct transformer m;

    (void)state;
    transformer_init(&m, NULL);
    image_resize_room(&img, 1, 1 << 20);
    memset(img.pixel, 77, img.cap);
    assert_int_equal(transform_image(&m, &t, &key, &img, out, &why), 0);
    for (int i = 0; i < 32 * 32 * 3; i++)
        assert_int_equal(out[i], 77);
    assert_false(transform_may_shrink(&t, 1, 1 << 20));
    image_release(&img);
    transformer_release(&m);
}

/* A part of the file decoded, or all of it first: the same pixels. */
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
            assert_int_equal(transform_image(&m, &t[i], &key, &whole, b, &why), 0);
            assert_memory_equal(a, b, n);
        }
    }
    free(a);
    free(b);
    free(data);
    image_release(&whole);
    transformer_release(&m);
}

/* Shrunken decoding happens where it may, and changes little. */
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
    assert_false(transform_may_shrink(&full, 640, 480));
    assert_true(transform_may_shrink(&shrunk, 640, 480));
    assert_false(transform_may_shrink(&shrunk, 220, 220));
    assert_int_equal(transform_file(&m, &full, &key, data, len, a, &why), 0);
    assert_int_equal(transform_file(&m, &shrunk, &key, data, len, b, &why), 0);
    assert_true(m.image.w < 640); /* it did shrink */
    for (size_t i = 0; i < n; i++)
        sum += abs(a[i] - b[i]);
    assert_true(sum > 0 && sum < 2 * (long)n);
    free(a);
    free(b);
    free(data);
    transformer_release(&m);
}

/* Pixel (x, y) of the padded and cropped picture, the slow way. */
static void pad_crop_is_what_it_says(void **state)
{
    struct transform t = transform_for_small_training(32);
    struct transformer m;
    struct image img = {0};
    struct strbuf why = STRBUF_INIT;
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

        assert_int_equal(transform_image(&m, &t, &key, &img, out, &why), 0);
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
    image_formula(&img, 20, 40);
    assert_int_equal(
        transform_image(&m, &t, &(struct augment_key){0, 0, 0}, &img, out, &why), -1);
    assert_non_null(strstr(why.buf, "20 x 40"));
    strbuf_release(&why);
    image_release(&img);
    transformer_release(&m);
}

/* Padding wider than the picture. */
static void pad_crop_of_a_tiny_picture(void **state)
{
    struct transform t = {
        .kind = TRANSFORM_PAD_CROP, .w = 8, .h = 8, .pad = 10, .flip = {0.5, false}};
    struct transformer m;
    struct image img = {0};
    struct strbuf why = STRBUF_INIT;
    uint8_t out[8 * 8 * 3];
    int black = 0;

    (void)state;
    transformer_init(&m, NULL);
    image_formula(&img, 2, 3);
    for (int s = 0; s < 300; s++) {
        struct augment_key key = {1, 0, s};
        int sum = 0;

        assert_int_equal(transform_image(&m, &t, &key, &img, out, &why), 0);
        for (size_t i = 0; i < sizeof(out); i++)
            sum += out[i];
        black += sum == 0;
    }
    assert_true(black > 0 && black < 300);
    image_release(&img);
    transformer_release(&m);
}

static void resized_crop_has_its_distribution(void **state)
{
    const double scale[2] = {0.08, 1}, ratio[2] = {3.0 / 4, 4.0 / 3};
    double area = 0, aspect = 0, left = 0;
    int n = 20000, small = 0, edges = 0;

    (void)state;
    for (int s = 0; s < n; s++) {
        struct augment_key key = {3, 7, s};
        struct augment_box b = augment_resized_crop(&key, 1000, 1000, scale, ratio);
        double a = b.w * (double)b.h / 1e6, r = (double)b.w / b.h;

        assert_true(b.x >= 0 && b.y >= 0 && b.x + b.w <= 1000 && b.y + b.h <= 1000);
        assert_true(a > 0.0799 && a <= 1.0001 && r > 0.748 && r < 1.336);
        area += a / n;
        aspect += log(r) / n;
        small += a < 0.2;
        if (b.w < 1000)
            left += b.x / (1000.0 - b.w) / n;
        else
            left += 0.5 / n;
        edges += b.x == 0 || b.x + b.w == 1000;
    }
    assert_true(fabs(aspect) < 0.01);
    assert_true(fabs(left - 0.5) < 0.01);
    /* U(0.08, 1), but one try in seven is too wide or too high and mostly a large one:
     * the means of 400,000 tries drawn with NumPy. */
    assert_true(fabs(area - 0.4777) < 0.006);
    assert_true(fabs(small / (double)n - 0.1528) < 0.008);
    assert_true(edges > 0);
}

/* A picture too narrow for any allowed aspect: the centred crop, and the whole at 1:1. */
static void resized_crop_falls_back_to_the_centre(void **state)
{
    const double one[2] = {1, 1}, ratio[2] = {3.0 / 4, 4.0 / 3}, full[2] = {0.99, 1};
    struct augment_key key = {0, 0, 0};
    struct augment_box b = augment_resized_crop(&key, 30, 1001, full, ratio);

    (void)state;
    assert_int_equal(b.w, 30);
    assert_int_equal(b.h, 40);
    assert_int_equal(b.x, 0);
    assert_int_equal(b.y, 480); /* floor(961 / 2) */
    b = augment_resized_crop(&key, 1001, 30, full, ratio);
    assert_int_equal(b.w, 40);
    assert_int_equal(b.x, 480);
    b = augment_resized_crop(&key, 50, 50, one, one);
    assert_true(b.x == 0 && b.y == 0 && b.w == 50 && b.h == 50);
}

static void keys_matter(void **state)
{
    const double scale[2] = {0.08, 1}, ratio[2] = {3.0 / 4, 4.0 / 3};
    struct augment_key key[4] = {{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {1, 1, 2}};
    struct augment_box first = augment_resized_crop(&key[0], 500, 375, scale, ratio);

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct augment_box b = augment_resized_crop(&key[i], 500, 375, scale, ratio);

        assert_int_equal(memcmp(&b, &first, sizeof(b)) == 0, i == 0);
    }
}

/* Alternating flips: half of the samples in epoch 0, the others in epoch 1, and so on. */
static void flips_alternate(void **state)
{
    const struct augment_flips f = {0.5, true}, random = {0.5, false};
    int first = 0, same = 0;

    (void)state;
    for (int s = 0; s < 2000; s++) {
        struct augment_key key = {5, 0, s};
        bool even = augment_flip(&key, &f);

        assert_int_equal(even, augment_flip(&key, &random));
        for (key.epoch = 1; key.epoch < 6; key.epoch++)
            assert_int_equal(augment_flip(&key, &f), even != (key.epoch % 2));
        first += even;
        key.epoch = 1;
        same += even == augment_flip(&key, &random);
    }
    assert_true(first > 900 && first < 1100);
    assert_true(same > 900 && same < 1100);
}

/* The padding's mode reaches the crop. */
static void pad_crop_has_its_mode(void **state)
{
    struct transform t = transform_for_small_training(32);
    struct transformer m;
    struct image img = {0};
    struct strbuf why = STRBUF_INIT;
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
        assert_int_equal(transform_image(&m, &t, &key, &img, out, &why), 0);
        assert_memory_equal(out, want, sizeof(out));
    }
    image_release(&img);
    transformer_release(&m);
}

static void jitter_has_its_range_and_all_orders(void **state)
{
    const double strength[3] = {0.4, 1.5, 0};
    int orders[3][3] = {{0}};

    (void)state;
    for (int s = 0; s < 3000; s++) {
        struct augment_key key = {4, 0, s};
        struct augment_jitter j = augment_jitter(&key, strength);

        assert_true(j.factor[0] >= 0.6f && j.factor[0] <= 1.4f);
        assert_true(j.factor[1] >= 0.0f && j.factor[1] <= 2.5f);
        assert_true(j.factor[2] == 1.0f);
        assert_int_equal(j.order[0] + j.order[1] + j.order[2], 3);
        for (int i = 0; i < 3; i++)
            orders[i][j.order[i]]++;
    }
    for (int i = 0; i < 9; i++)
        assert_true(orders[i / 3][i % 3] > 900 && orders[i / 3][i % 3] < 1100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(centre_equals_torchvision),
        cmocka_unit_test(a_line_is_cut_short),
        cmocka_unit_test(file_equals_image),
        cmocka_unit_test(shrinking_changes_little),
        cmocka_unit_test(pad_crop_is_what_it_says),
        cmocka_unit_test(pad_crop_of_a_tiny_picture),
        cmocka_unit_test(pad_crop_has_its_mode),
        cmocka_unit_test(resized_crop_has_its_distribution),
        cmocka_unit_test(resized_crop_falls_back_to_the_centre),
        cmocka_unit_test(flips_alternate),
        cmocka_unit_test(keys_matter),
        cmocka_unit_test(jitter_has_its_range_and_all_orders),
    };

    return cmocka_run_group_tests_name("image_transform", tests, NULL, NULL);
}
