/* Distribution of the random numbers of a sample: crops, flips, colors. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/color_formula.h"
#include "image/augment.h"
#include "tests/test.h"

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
    /* U(0.08, 1), but one try in seven, mostly a large one, is too wide or too tall:
     * means of 400,000 tries drawn with NumPy. */
    assert_true(fabs(area - 0.4777) < 0.006);
    assert_true(fabs(small / (double)n - 0.1528) < 0.008);
    assert_true(edges > 0);
}

/* A crop may be as wide or as tall as the image. */
static void resized_crop_reaches_the_edges(void **state)
{
    const double scale[2] = {0.5, 1}, ratio[2] = {3.0 / 4, 4.0 / 3};
    int wide = 0, high = 0;

    (void)state;
    for (int s = 0; s < 1000; s++) {
        struct augment_key key = {3, 7, s};
        struct augment_box b = augment_resized_crop(&key, 8, 8, scale, ratio);

        wide += b.w == 8 && b.h < 8;
        high += b.h == 8 && b.w < 8;
    }
    assert_true(wide > 100 && high > 100);
}

/* An image too narrow for any allowed aspect: the centered crop, and the whole at 1:1. */
static void resized_crop_falls_back_to_the_center(void **state)
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
        cmocka_unit_test(resized_crop_has_its_distribution),
        cmocka_unit_test(resized_crop_reaches_the_edges),
        cmocka_unit_test(resized_crop_falls_back_to_the_center),
        cmocka_unit_test(keys_matter),
        cmocka_unit_test(flips_alternate),
        cmocka_unit_test(jitter_has_its_range_and_all_orders),
    };

    return cmocka_run_group_tests_name("image_augment", tests, NULL, NULL);
}
