/* Images and labels with one geometry: compared with Pillow and with each other. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "image/transformer.h"
#include "tests/image/image_formula.h"
#include "tests/test.h"

enum { CASES = 27 };

static void label_formula(uint8_t *v, int w, int h)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            v[y * w + x] = (uint8_t)((x / 3 + 5 * (y / 4)) % 19);
}

static void segment_equals_pillow(void **state)
{
    size_t len, pos = 0;
    char *data = file_read("tests/golden/image_segment/pillow.bin", &len);
    struct transformer m;
    struct image img = {0};
    int cases = 0;

    (void)state;
    assert_non_null(data);
    transformer_init(&m, NULL);
    for (; pos < len; cases++) {
        struct {
            int32_t seed, epoch, sample, w, h, out_w, out_h, d, shift, zero;
            double factor[2], flip;
        } c;
        uint8_t pixel[24 * 18 * 3], label[24 * 18], src[64 * 64];
        struct transform t;
        size_t n, ln;

        memcpy(&c, data + pos, sizeof(c));
        pos += sizeof(c);
        t = transform_for_segmentation(c.out_w, c.out_h);
        t.label_divisor = c.d;
        t.shift = c.shift;
        t.flip.probability = c.flip;
        memcpy(t.factor, c.factor, sizeof(t.factor));
        memcpy(t.fill, (uint8_t[]){10, 20, 30}, 3);
        image_formula(&img, c.w, c.h);
        label_formula(src, c.w, c.h);

        struct augment_key key = {((uint64_t)1 << 35) + (uint64_t)c.seed,
                                  (uint64_t)c.epoch, c.sample};

        transform_image(&m, &t, &key, &img, pixel);
        transform_label(&m, &t, &key, src, c.w, c.h, label);
        n = (size_t)(c.out_w * c.out_h * 3);
        ln = (size_t)(c.out_w / c.d * (c.out_h / c.d));
        for (size_t i = 0; i < n; i++, pos++)
            if (!(abs(pixel[i] - (uint8_t)data[pos]) <= 1))
                fail_msg("case %d: byte %zu is %d, not %d", cases, i, pixel[i],
                         (uint8_t)data[pos]);
        for (size_t i = 0; i < ln; i++, pos++)
            if (label[i] != (uint8_t)data[pos])
                fail_msg("case %d: label %zu is %d, not %d", cases, i, label[i],
                         (uint8_t)data[pos]);
    }
    assert_int_equal(cases, CASES);
    free(data);
    image_release(&img);
    transformer_release(&m);
}

/*
 * The label map matches its image: both are drawn as the same bright squares, and a pixel
 * well inside a square must have its label, for all random numbers. Colors change only
 * the image.
 */
static void label_follows_image(void **state)
{
    enum { W = 96, H = 64, OW = 80, OH = 56 };
    struct transform t = transform_for_segmentation(OW, OH);
    struct transformer m;
    struct image img = {0};
    uint8_t label[W * H], out[OW * OH], again[OW * OH], pixel[OW * OH * 3];
    int bright = 0, dark = 0, outside = 0;

    (void)state;
    image_resize_reserve(&img, W, H);
    for (int i = 0; i < W * H; i++) {
        label[i] = (uint8_t)((i % W / 20 + i / W / 16) % 2);
        memset(img.pixel + (ptrdiff_t)i * 3, label[i] ? 250 : 60, 3);
    }
    transformer_init(&m, NULL);
    t.flip.probability = 0.5;
    t.vflip = 0.5;
    t.shift = 9;
    t.factor[0] = 0.7;
    t.factor[1] = 1.9;
    for (int s = 0; s < 40; s++) {
        struct augment_key key = {5, 1, s};

        t.jitter[0] = t.jitter[1] = t.jitter[2] = 0;
        transform_label(&m, &t, &key, label, W, H, again);
        t.jitter[0] = 0.2;
        transform_image(&m, &t, &key, &img, pixel);
        transform_label(&m, &t, &key, label, W, H, out);
        assert_memory_equal(out, again, sizeof(out));
        for (int i = 0; i < OW * OH; i++) {
            int v = pixel[3 * i];

            if (out[i] == LABEL_IGNORE)
                outside += v == 0;
            else if (out[i])
                bright += v >= 130;
            else
                dark += v < 130;
            if ((out[i] == LABEL_IGNORE) != (v == 0))
                fail_msg("sample %d: pixel %d is %d with the label %d", s, i, v, out[i]);
        }
    }
    /* except pixels on the edges of squares */
    if (!(bright + dark + outside > 40 * OW * OH * 97 / 100))
        fail_msg("%d bright, %d dark, %d outside of %d", bright, dark, outside,
                 40 * OW * OH);
    assert_true(bright > 10000 && dark > 10000 && outside > 10000);
    image_release(&img);
    transformer_release(&m);
}

/* A vertical flip reverses the rows of an image in all kinds of transforms, and reads the
 * label map where the flipped image has its pixels. */
static void vertical_flip(void **state)
{
    enum { W = 24, H = 16, D = 4 };
    struct transform all[] = {transform_for_segmentation(W, H), transform_for_training(H),
                              transform_for_small_training(H)};
    uint8_t plain[W * H * 3], flipped[W * H * 3], label[40 * 30], large[W * H],
        small[W * H / D / D];
    struct image img = {0};
    struct transformer m;
    int flips = 0;

    (void)state;
    image_formula(&img, 40, 30);
    label_formula(label, 40, 30);
    transformer_init(&m, NULL);
    for (int s = 0; s < 90; s++) {
        struct transform t = all[s % 3];
        struct augment_key key = {3, 1, s};
        size_t row = (size_t)t.w * 3;

        transform_image(&m, &t, &key, &img, plain);
        t.vflip = 0.5;
        transform_image(&m, &t, &key, &img, flipped);
        flips += augment_vflip(&key, t.vflip);
        for (int y = 0; y < t.h; y++)
            assert_memory_equal(
                flipped + (size_t)y * row,
                plain + row * (size_t)(augment_vflip(&key, 0.5) ? t.h - 1 - y : y), row);
        if (t.kind != TRANSFORM_SEGMENT)
            continue;
        transform_label(&m, &t, &key, label, 40, 30, large);
        t.label_divisor = D;
        transform_label(&m, &t, &key, label, 40, 30, small);
        for (int i = 0; i < W * H / D / D; i++)
            assert_int_equal(
                small[i], large[(i / (W / D) * D + D / 2) * W + i % (W / D) * D + D / 2]);
    }
    assert_true(flips > 30 && flips < 60);
    image_release(&img);
    transformer_release(&m);
}

/* After any shift, a part of the image remains visible. */
static void far_shift(void **state)
{
    struct transform t = transform_for_segmentation(8, 8);
    struct transformer m;
    struct image img = {0};
    uint8_t label[8 * 8] = {0}, out[8 * 8], pixel[8 * 8 * 3];

    (void)state;
    image_formula(&img, 8, 8);
    transformer_init(&m, NULL);
    t.shift = 1000;
    for (int s = 0; s < 50; s++) {
        struct augment_key key = {1, 0, s};
        int seen = 0;

        transform_image(&m, &t, &key, &img, pixel);
        transform_label(&m, &t, &key, label, 8, 8, out);
        for (int i = 0; i < 64; i++)
            seen += out[i] == 0;
        assert_true(seen > 0);
    }
    image_release(&img);
    transformer_release(&m);
}

/* An image that was fitted once gives the same pixels as the image itself. */
static void fitted_is_equal(void **state)
{
    struct transform t = transform_for_segmentation(40, 24), fit;
    struct transformer m;
    struct image img = {0}, small = {0};
    uint8_t a[40 * 24 * 3], b[40 * 24 * 3], la[40 * 24], lb[40 * 24], label[90 * 90],
        fitted[40 * 40];

    (void)state;
    transformer_init(&m, NULL);
    t.flip.probability = 0.5;
    t.shift = 3;
    t.factor[0] = t.factor[1] = 1;
    for (int s = 0; s < 60; s++) {
        struct augment_key key = {5, 1, s};
        int w = 20 + s, h = 77 - s, fw, fh;

        image_formula(&img, w, h);
        label_formula(label, w, h);
        transform_segment_fit(&t, w, h, &fw, &fh);
        assert_true((fw == 40 && fh <= 24) || (fw <= 40 && fh == 24));
        fit = transform_for_segmentation(fw, fh);
        fit.kind = TRANSFORM_STRETCH;
        image_resize_reserve(&small, fw, fh);
        transform_image(&m, &fit, &key, &img, small.pixel);
        transform_label(&m, &fit, &key, label, w, h, fitted);
        transform_image(&m, &t, &key, &img, a);
        transform_image(&m, &t, &key, &small, b);
        assert_memory_equal(a, b, sizeof(a));
        transform_label(&m, &t, &key, label, w, h, la);
        transform_label(&m, &t, &key, fitted, fw, fh, lb);
        assert_memory_equal(la, lb, sizeof(la));
    }
    image_release(&img);
    image_release(&small);
    transformer_release(&m);
}

static void mirror(uint8_t *v, int w, int h, int channels)
{
    for (int y = 0; y < h; y++, v += w * channels)
        for (int x = 0; x < w / 2; x++)
            for (int c = 0; c < channels; c++) {
                uint8_t *a = v + x * channels + c, *b = v + (w - 1 - x) * channels + c;
                uint8_t was = *a;

                *a = *b;
                *b = was;
            }
}

/* Mirroring by the caller equals mirroring by transform(), of image and label map, with
 * labels of full size and smaller, and for images that do not fill the window. */
static void the_caller_may_mirror(void **state)
{
    enum { OW = 42, OH = 24 };
    struct transformer m;
    struct image img = {0};
    uint8_t label[90 * 90], a[OW * OH * 3], b[OW * OH * 3], la[OW * OH], lb[OW * OH];
    int mirrored = 0, outside = 0;

    (void)state;
    transformer_init(&m, NULL);
    for (int s = 0; s < 120; s++) {
        struct augment_key key = {5, (uint64_t)s % 3, s};
        struct transform t = transform_for_segmentation(OW, OH);
        int w = 30 + s % 50, h = 77 - s % 40, d = 1 + s % 4;

        image_formula(&img, w, h);
        label_formula(label, w, h);
        t.flip = (struct augment_flips){0.5, s % 2};
        t.shift = 5;
        t.factor[0] = 0.6;
        t.factor[1] = 1.7;
        t.label_divisor = d;
        transform_image(&m, &t, &key, &img, a);
        transform_label(&m, &t, &key, label, w, h, la);
        t.flip_later = true;
        transform_image(&m, &t, &key, &img, b);
        transform_label(&m, &t, &key, label, w, h, lb);
        if (augment_flip(&key, &t.flip)) {
            mirrored++;
            assert_memory_not_equal(a, b, sizeof(a));
            mirror(b, OW, OH, 3);
            mirror(lb, OW / d, OH / d, 1);
        }
        for (int i = 0; i < OW / d * (OH / d); i++)
            outside += la[i] == LABEL_IGNORE;
        assert_memory_equal(a, b, sizeof(a));
        assert_memory_equal(la, lb, (size_t)(OW / d) * (size_t)(OH / d));
    }
    assert_true(mirrored > 30 && mirrored < 90 && outside > 1000);
    image_release(&img);
    transformer_release(&m);
}

/* A part of a resize has the pixels of the whole, even if its edges weigh most. */
static void part_of_a_resize(void **state)
{
    struct resizer r = {0};
    struct image img = {0};
    uint8_t whole[16 * 16 * 3], part[16 * 16 * 3];

    (void)state;
    for (int i = 0; i < 400; i++) {
        int w = 20 + i % 90, h = 15 + i % 77, ow = 4 + i % 12, oh = 4 + i / 3 % 12;
        struct resize_axis x = resize_axis_all(0, w, ow), y = resize_axis_all(0, h, oh);
        enum resize_filter f = i % 2 ? RESIZE_BILINEAR : RESIZE_BICUBIC;

        image_formula(&img, w, h);
        resize(&r, &img, &x, &y, f,
               &(struct resize_target){whole, (size_t)ow * 3, false});
        x.first = y.first = 1;
        x.n -= 2;
        y.n -= 2;
        resize(&r, &img, &x, &y, f,
               &(struct resize_target){part, (size_t)x.n * 3, false});
        for (int k = 0; k < y.n; k++)
            assert_memory_equal(part + k * x.n * 3, whole + ((k + 1) * ow + 1) * 3,
                                (size_t)x.n * 3);
    }
    resizer_release(&r);
    image_release(&img);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segment_equals_pillow), cmocka_unit_test(label_follows_image),
        cmocka_unit_test(vertical_flip),         cmocka_unit_test(far_shift),
        cmocka_unit_test(fitted_is_equal),       cmocka_unit_test(the_caller_may_mirror),
        cmocka_unit_test(part_of_a_resize),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
