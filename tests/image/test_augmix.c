/* AugMix: compared with torchvision's for given draws; its own draws. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "image/augmix.h"
#include "tests/test.h"

enum { W = 24, H = 18, BYTES = W * H * 3 };

static const char *read_bytes(const char *src, void *dst, size_t n)
{
    memcpy(dst, src, n);
    return src + n;
}

/* One operation: within one level. Later operations of a chain, such as equalize, enlarge
 * that difference. */
static void augmix_equals_torchvision(void **state)
{
    size_t len;
    char *data = file_read("tests/golden/image_augment/augmix.bin", &len);
    const char *cursor = data + BYTES;
    struct warp_canvas warp = {0}, more = {0};
    uint8_t pixel[BYTES], scratch[BYTES], golden[BYTES];
    struct policy_canvas c = {.pixel = pixel,
                              .w = W,
                              .h = H,
                              .fill = {124, 116, 104},
                              .scratch = scratch,
                              .warp = &warp,
                              .more = &more};
    int cases = 0, sum = 0;

    (void)state;
    assert_non_null(data);
    for (; cursor < data + len; cases++) {
        struct augmix a = {0};

        cursor = read_bytes(cursor, &a.chains, sizeof(a.chains));
        cursor = read_bytes(cursor, &a.original, sizeof(a.original));
        for (int i = 0; i < a.chains; i++) {
            cursor = read_bytes(cursor, &a.weight[i], sizeof(a.weight[i]));
            cursor = read_bytes(cursor, &a.depth[i], sizeof(a.depth[i]));
            for (int k = 0; k < a.depth[i]; k++)
                cursor = read_bytes(cursor, &a.step[i][k], sizeof(a.step[i][k]));
        }
        cursor = read_bytes(cursor, golden, BYTES);
        memcpy(pixel, data, BYTES);
        augmix_apply(&a, &c);
        for (int i = 0, limit = a.depth[0] > 1 || a.chains > 1 ? 3 : 1; i < BYTES; i++) {
            int d = abs(pixel[i] - golden[i]);

            sum += d;
            if (!(d <= limit))
                fail_msg("case %d: byte %d is %d, not %d", cases, i, pixel[i], golden[i]);
        }
    }
    assert_int_equal(cases, 40);
    assert_true(sum < 40 * BYTES / 4);
    warp_canvas_release(&warp);
    warp_canvas_release(&more);
    free(data);
}

static void mixtures_are_drawn(void **state)
{
    int seen[AUGMIX_OPS] = {0}, min = AUGMIX_LEVELS, max = 0;
    double total = 0;

    (void)state;
    for (int s = 0; s < 1000; s++) {
        struct augment_words r = augment_words_of(&(struct augment_key){4, 1, s}, 0);
        struct augmix a = {0};
        float sum;

        augmix_draw(&a, &r, 4, 3, &(struct augment_range){1, 3});
        assert_int_equal(a.chains, 3);
        sum = a.original;
        total += (double)a.original / 1000;
        for (int i = 0; i < 3; i++) {
            sum += a.weight[i];
            assert_true(a.weight[i] >= 0 && a.depth[i] >= 1 && a.depth[i] <= 3);
            for (int k = 0; k < a.depth[i]; k++) {
                seen[a.step[i][k].op]++;
                min = a.step[i][k].level < min ? a.step[i][k].level : min;
                max = a.step[i][k].level > max ? a.step[i][k].level : max;
            }
        }
        assert_true(fabs((double)sum - 1) < 1e-5);
    }
    assert_true(total > 0.47 && total < 0.53 && min == 0 && max == 3);
    for (int k = 0; k < AUGMIX_OPS; k++)
        assert_true(seen[k] > 385 && seen[k] < 540); /* 6000 / 13 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(augmix_equals_torchvision),
        cmocka_unit_test(mixtures_are_drawn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
