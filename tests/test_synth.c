/* Generated pictures: pure functions of their arguments, all different, and JPEGs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/alloc.h"
#include "dataset/synth_shapes.h"
#include "image/encode.h"
#include "image/image.h"

enum { SIZE = 32, BYTES = SIZE * SIZE * 3 };

static void draw(uint8_t *rgb, uint64_t seed, uint32_t split, uint32_t number, int shape)
{
    struct synth_picture p = {seed, split, number, shape, SIZE};

    synth_shapes_draw(&p, rgb);
}

static double mean_difference(const uint8_t *a, const uint8_t *b, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += abs(a[i] - b[i]);
    return sum / n;
}

static void test_pure(void **state)
{
    uint8_t base[BYTES], other[BYTES];

    (void)state;
    draw(base, 1, 0, 5, 3);
    draw(other, 1, 0, 5, 3);
    assert_memory_equal(base, other, BYTES);
    for (int i = 0; i < 5; i++) { /* each argument changes the whole picture */
        draw(other,
             i == 0   ? 2
             : i == 1 ? 1ull << 40 | 1
                      : 1,
             i == 2, i == 3 ? 6 : 5, i == 4 ? 4 : 3);
        if (!(mean_difference(base, other, BYTES) > 10))
            fail_msg("argument %d", i);
    }
}

/* No two pictures of a set are alike, and none is empty or black. */
static void test_distinct(void **state)
{
    enum { EACH = 8, N = SYNTH_SHAPES * EACH };
    uint8_t(*all)[BYTES] = xmalloc((size_t)N * BYTES);
    int pairs = 0;

    (void)state;
    for (int i = 0; i < N; i++)
        draw(all[i], 0, 0, (uint32_t)(i % EACH), i / EACH);
    for (int i = 0; i < N; i++) {
        double mean = 0, square = 0;

        for (int k = 0; k < BYTES; k++) {
            mean += all[i][k] / (double)BYTES;
            square += all[i][k] * all[i][k] / (double)BYTES;
        }
        if (!(mean > 20 && mean < 235 && square - mean * mean > 100))
            fail_msg("picture %d: mean %g", i, mean);
        for (int k = 0; k < i; k++, pairs++)
            if (!(mean_difference(all[i], all[k], BYTES) > 5))
                fail_msg("pictures %d and %d", i, k);
    }
    assert_int_equal(pairs, N * (N - 1) / 2);
    free(all);
}

/* Twice the size is the same picture: only the grain differs. */
static void test_sizes(void **state)
{
    uint8_t small[BYTES], *large = xmalloc(4 * BYTES), half[BYTES];

    (void)state;
    for (int shape = 0; shape < SYNTH_SHAPES; shape++) {
        struct synth_picture p = {9, 1, 2, shape, 2 * SIZE};

        draw(small, 9, 1, 2, shape);
        synth_shapes_draw(&p, large);
        for (int i = 0; i < BYTES; i++) {
            int k = i % 3, x = i / 3 % SIZE, y = i / 3 / SIZE;
            const uint8_t *at = large + (2 * y * 2 * SIZE + 2 * x) * 3 + k;

            half[i] = (uint8_t)((at[0] + at[3] + at[6 * SIZE] + at[6 * SIZE + 3]) / 4);
        }
        if (!(mean_difference(small, half, BYTES) < 12))
            fail_msg("%s: %g", synth_shape_name(shape),
                     mean_difference(small, half, BYTES));
    }
    free(large);
}

static void test_names(void **state)
{
    (void)state;
    for (int i = 0; i < SYNTH_SHAPES; i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(synth_shape_name(i), synth_shape_name(k));
}

static void test_jpeg(void **state)
{
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};
    uint8_t rgb[BYTES];
    size_t len;
    int w, h;

    (void)state;
    for (int quality = 50; quality <= 100; quality += 50) {
        unsigned char *jpeg;

        draw(rgb, 0, 0, 0, 0);
        jpeg = jpeg_encode(rgb, SIZE, SIZE, quality, &len);
        assert_int_equal(image_decoder_open(d, jpeg, len, &w, &h, &why), 0);
        assert_true(w == SIZE && h == SIZE);
        assert_int_equal(image_decoder_read(d, NULL, &img, &why), 0);
        assert_int_equal(img.stride, 3 * SIZE);
        if (!(mean_difference(rgb, img.pixel, BYTES) < (quality == 50 ? 12 : 2)))
            fail_msg("quality %d: %g", quality, mean_difference(rgb, img.pixel, BYTES));
        free(jpeg);
    }
    image_release(&img);
    image_decoder_free(d);
    strbuf_release(&why);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_pure),  cmocka_unit_test(test_distinct),
        cmocka_unit_test(test_sizes), cmocka_unit_test(test_names),
        cmocka_unit_test(test_jpeg),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}
