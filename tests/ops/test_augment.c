/* flip, color_jitter, and erase of the program compared with the loader's results for the
 * same images. The CPU and the reference share their code, so they cannot check each
 * other. */
#include <string.h>

#include "base/philox.h"
#include "image/enhance.h"
#include "image/erase.h"
#include "ops/augment.h"
#include "tests/test.h"

enum { W = 23, H = 17, N = W * H, SAMPLES = 40 };

static void fill(uint8_t *p, int64_t sample)
{
    for (int i = 0; i < 3 * N; i++)
        p[i] = (uint8_t)philox(3, PHILOX_TEST, (uint64_t)sample, (uint64_t)i).v[0];
}

/* Keys of every second epoch; the last one is padding. */
static struct augment_key key_of(int s)
{
    return (struct augment_key){
        .seed = 11, .epoch = (uint64_t)s % 3, .sample = s < SAMPLES ? s : -1};
}

static void flips_mirror(void **state)
{
    int mirrored = 0;

    (void)state;
    for (int s = 0; s <= SAMPLES; s++)
        for (int c = 1; c <= 4; c++) {
            uint8_t x[4 * N], y[4 * N];
            struct flip_attrs a = {"flip", {s < SAMPLES ? 0.5 : 1, false}};
            struct augment_key key = key_of(s);
            bool flip = s < SAMPLES && augment_flip(&key, &a.flips);

            for (int i = 0; i < 4 * N; i++)
                x[i] = (uint8_t)philox(3, PHILOX_TEST, (uint64_t)s, (uint64_t)i).v[0];
            flip_image(&a, &(struct augment_image){&key, x, y, H, W, c});
            for (int i = 0; i < N * c; i++) {
                int row = i / c / W, col = i / c % W, start = flip ? W - 1 - col : col;

                assert_int_equal(y[i], x[(row * W + start) * c + i % c]);
            }
            mirrored += flip;
        }
    assert_true(mirrored > SAMPLES && mirrored < 3 * SAMPLES);
}

static void colors_are_the_loaders(void **state)
{
    struct color_jitter_attrs a = {"jitter", {0.4, 0.3, 0.6}};

    (void)state;
    for (int s = 0; s <= SAMPLES; s++) {
        uint8_t x[3 * N], y[3 * N];
        struct augment_key key = key_of(s);
        struct augment_jitter j = augment_jitter(&key, a.strength);

        fill(x, s);
        color_jitter_image(&a, &(struct augment_image){&key, x, y, H, W, 3});
        for (int i = 0; i < 3 && s < SAMPLES; i++) {
            float f = j.factor[j.order[i]];

            if (j.order[i] == 0)
                enhance_brightness(x, N, f);
            else if (j.order[i] == 1)
                enhance_contrast(x, N, f);
            else
                enhance_color(x, N, f);
        }
        assert_memory_equal(x, y, sizeof(y));
    }
}

static void boxes_are_the_loaders(void **state)
{
    static const double mean[] = {0.485, 0.456, 0.406}, std[] = {0.229, 0.224, 0.225};
    static struct erase_levels levels;
    static struct erase loader;
    int erased = 0;

    (void)state;
    erase_levels_init(&levels, mean, std);
    for (int s = 0; s < 3 * SAMPLES; s++) {
        struct erase_attrs a = {"erase", 0.7, s % 3, 1 + s % 4, {0}, {0}};
        uint8_t x[3 * N], y[3 * N];
        struct augment_key key = key_of(s % (SAMPLES + 1));

        fill(x, s);
        erase_init(&loader, a.probability, (enum erase_mode)a.mode, a.count, mean, std);
        erase_image(&a, &levels, &(struct augment_image){&key, x, y, H, W, 3});
        erased += memcmp(x, y, sizeof(y)) != 0;
        if (key.sample >= 0)
            erase_apply(&loader, &key, x, W, H);
        assert_memory_equal(x, y, sizeof(y));
    }
    assert_true(erased > SAMPLES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flips_mirror),
        cmocka_unit_test(colors_are_the_loaders),
        cmocka_unit_test(boxes_are_the_loaders),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
