/* The color operations against Pillow's. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "image/enhance.h"
#include "tests/image/image_formula.h"
#include "tests/test.h"

enum { W = 29, H = 21, N = W * H };

/* Same order as in scripts/golden/image_enhance.py. */
enum operation {
    BRIGHTNESS,
    CONTRAST,
    COLOR,
    SHARPNESS,
    AUTOCONTRAST,
    EQUALIZE,
    INVERT,
    SOLARIZE,
    SOLARIZE_ADD,
    POSTERIZE
};

static void apply(enum operation op, float f, uint8_t *p)
{
    static uint8_t scratch[N * 3];

    switch (op) {
    case BRIGHTNESS:
        enhance_brightness(p, N, f);
        break;
    case CONTRAST:
        enhance_contrast(p, N, f);
        break;
    case COLOR:
        enhance_color(p, N, f);
        break;
    case SHARPNESS:
        enhance_sharpness(p, W, H, f, scratch);
        break;
    case AUTOCONTRAST:
        enhance_autocontrast(p, N);
        break;
    case EQUALIZE:
        enhance_equalize(p, N);
        break;
    case INVERT:
        enhance_invert(p, N);
        break;
    case SOLARIZE:
        enhance_solarize(p, N, (int)f);
        break;
    case SOLARIZE_ADD:
        enhance_solarize_add(p, N, (int)f, 128);
        break;
    case POSTERIZE:
        enhance_posterize(p, N, (int)f);
        break;
    }
}

static void enhance_equals_pillow(void **state)
{
    size_t len, pos = 0;
    char *data = file_read("tests/golden/image_enhance/pillow.bin", &len);
    struct image img = {0};
    int cases = 0;

    (void)state;
    assert_non_null(data);
    for (; pos < len; cases++) {
        int32_t op;
        float f;

        memcpy(&op, data + pos, 4);
        memcpy(&f, data + pos + 4, 4);
        pos += 8;
        image_formula(&img, W, H);
        for (int i = 0; i < N * 3; i++) /* the script's narrower range */
            img.pixel[i] = (uint8_t)(20 + img.pixel[i] * 180 / 255);
        apply((enum operation)op, f, img.pixel);
        for (int i = 0; i < N * 3; i++)
            if (img.pixel[i] != (uint8_t)data[pos + (size_t)i])
                fail_msg("operation %d, %g: byte %d is %d, not %d", op, (double)f, i,
                         img.pixel[i], (uint8_t)data[pos + (size_t)i]);
        pos += N * 3;
    }
    assert_int_equal(cases, 25);
    free(data);
    image_release(&img);
}

/* Images of a single color: nothing to stretch or to equalize. */
static void flat_images_stay(void **state)
{
    uint8_t p[30 * 3], q[30 * 3];

    (void)state;
    memset(p, 77, sizeof(p));
    memcpy(q, p, sizeof(p));
    enhance_autocontrast(q, 30);
    enhance_equalize(q, 30);
    enhance_contrast(q, 30, 1.8f);
    enhance_color(q, 30, 0.2f);
    enhance_posterize(q, 30, 8);
    assert_memory_equal(p, q, sizeof(p));
    enhance_posterize(q, 30, 0);
    for (size_t i = 0; i < sizeof(q); i++)
        assert_int_equal(q[i], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(enhance_equals_pillow),
        cmocka_unit_test(flat_images_stay),
    };

    return cmocka_run_group_tests_name("image_enhance", tests, NULL, NULL);
}
