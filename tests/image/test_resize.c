/* Resizing: against Pillow, AVX2 against plain C, windows against the whole. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/philox.h"
#include "image/resize.h"
#include "tests/image/image_formula.h"
#include "tests/test.h"

struct golden {
    int32_t filter, w, h, x0, y0, x1, y1, out_w, out_h;
};

static void compare(const struct golden *g, const uint8_t *got, const uint8_t *want,
                    int n)
{
    for (int i = 0; i < n; i++)
        if (got[i] != want[i])
            fail_msg("filter %d, %dx%d: byte %d: %d, Pillow has %d", g->filter, g->out_w,
                     g->out_h, i, got[i], want[i]);
}

static void resize_equals_pillow(void **state)
{
    size_t len, pos = 0;
    char *data = file_read("tests/golden/image_resize/pillow.bin", &len);
    struct resizer r = {0};
    struct image img = {0};
    uint8_t out[64 * 64 * 3];
    int cases = 0;

    (void)state;
    assert_non_null(data);
    while (pos < len) {
        struct golden g;
        struct resize_axis x, y;
        int n;

        memcpy(&g, data + pos, sizeof(g));
        pos += sizeof(g);
        x = resize_axis_all(g.x0, g.x1, g.out_w);
        y = resize_axis_all(g.y0, g.y1, g.out_h);
        n = g.out_w * g.out_h * 3;
        assert_true(n <= (int)sizeof(out) && pos + (size_t)n <= len);
        image_formula(&img, g.w, g.h);
        resize(&r, &img, &x, &y, (enum resize_filter)g.filter,
               &(struct resize_target){out, (size_t)g.out_w * 3, false});
        compare(&g, out, (const uint8_t *)data + pos, n);
        pos += (size_t)n;
        cases++;
    }
    assert_int_equal(cases, 35);
    free(data);
    image_release(&img);
    resizer_release(&r);
}

/* Returns a random axis over [0, size): a crop or a fractional interval, a window of the
 * outputs. */
static struct resize_axis random_axis(struct philox v, int size)
{
    struct resize_axis a;

    a.lo = (int)philox_below(v.v[0], (uint32_t)size);
    a.hi = a.lo + 1 + (int)philox_below(v.v[1], (uint32_t)(size - a.lo));
    a.begin = a.lo;
    a.end = a.hi;
    a.out = 1 + (int)philox_below(v.v[2], 70);
    a.first = (int)philox_below(v.v[3], (uint32_t)a.out);
    a.n = 1 + (int)philox_below(v.v[3] * 2654435761u, (uint32_t)(a.out - a.first));
    if (v.v[2] & 1 && a.hi - a.lo > 1) {
        a.begin += 0.37;
        a.end -= 0.21;
    }
    return a;
}

static void resize_simd_equals_c(void **state)
{
    struct resizer r = {0};
    struct image img = {0};
    uint8_t *a = xmalloc(70 * 70 * 3), *b = xmalloc(70 * 70 * 3);

    (void)state;
    for (uint64_t i = 0; i < 400; i++) {
        struct philox v = philox(1, PHILOX_TEST, 0, i);
        int w = 1 + (int)philox_below(v.v[0], 150), h = 1 + (int)philox_below(v.v[1], 90);
        struct resize_axis x = random_axis(philox(1, PHILOX_TEST, 1, i), w);
        struct resize_axis y = random_axis(philox(1, PHILOX_TEST, 2, i), h);
        enum resize_filter f = (enum resize_filter)philox_below(v.v[2], 5);
        size_t n = (size_t)x.n * (size_t)y.n * 3;

        image_formula(&img, w, h);
        resize(&r, &img, &x, &y, f,
               &(struct resize_target){a, (size_t)x.n * 3, v.v[3] & 1});
        for (int passes = RESIZE_C; passes < RESIZE_AVX512; passes++) {
            resize_limit_passes((enum resize_passes)passes);
            resize(&r, &img, &x, &y, f,
                   &(struct resize_target){b, (size_t)x.n * 3, v.v[3] & 1});
            resize_limit_passes(RESIZE_AVX512);
            assert_memory_equal(a, b, n);
        }
    }
    free(a);
    free(b);
    image_release(&img);
    resizer_release(&r);
}

/* A window of the outputs needs only the source pixels that resize_span returns. */
static void resize_window_is_part_of_whole(void **state)
{
    struct resizer r = {0};
    struct image img = {0}, part = {0};
    static uint8_t whole[40 * 30 * 3], window[17 * 11 * 3];
    struct resize_axis x = resize_axis_all(0, 120, 40), y = resize_axis_all(0, 77, 30);
    int x0, x1, y0, y1;

    (void)state;
    image_formula(&img, 120, 77);
    resize(&r, &img, &x, &y, RESIZE_BICUBIC,
           &(struct resize_target){whole, 40 * 3, true});
    x.first = 9;
    x.n = 17;
    y.first = 12;
    y.n = 11;
    resize_span(&x, RESIZE_BICUBIC, &x0, &x1);
    resize_span(&y, RESIZE_BICUBIC, &y0, &y1);
    assert_true(x0 > 0 && x1 < 120 && y0 > 0 && y1 < 77);
    image_resize_reserve(&part, x1 - x0, y1 - y0);
    part.x = x0;
    part.y = y0;
    for (int i = y0; i < y1; i++)
        memcpy(part.pixel + (size_t)(i - y0) * part.stride,
               img.pixel + (size_t)i * img.stride + (size_t)x0 * 3, part.stride);
    resize(&r, &part, &x, &y, RESIZE_BICUBIC,
           &(struct resize_target){window, 17 * 3, true});
    for (int i = 0; i < 11;
         i++) /* mirrored: the window starts 40 - 9 - 17 from the left */
        assert_memory_equal(window + i * 17 * 3, whole + ((i + 12) * 40 + 14) * 3,
                            17 * 3);
    image_release(&img);
    image_release(&part);
    resizer_release(&r);
}

static void resize_to_own_size_is_identity(void **state)
{
    struct resizer r = {0};
    struct image img = {0};
    struct resize_axis x = resize_axis_all(0, 45, 45), y = resize_axis_all(0, 31, 31);
    static uint8_t out[45 * 31 * 3];

    (void)state;
    image_formula(&img, 45, 31);
    for (int f = 0; f <= RESIZE_LANCZOS; f++) {
        memset(out, 0, sizeof(out));
        resize(&r, &img, &x, &y, (enum resize_filter)f,
               &(struct resize_target){out, 45 * 3, false});
        assert_memory_equal(out, img.pixel, sizeof(out));
    }
    image_release(&img);
    resizer_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resize_equals_pillow),
        cmocka_unit_test(resize_simd_equals_c),
        cmocka_unit_test(resize_window_is_part_of_whole),
        cmocka_unit_test(resize_to_own_size_is_identity),
    };

    return cmocka_run_group_tests_name("image_resize", tests, NULL, NULL);
}
