/* Padded crops: positions against numpy.pad, pixels against positions. */
#include <stdbool.h>
#include <string.h>

#include "image/pad_crop.h"
#include "tests/image/image_formula.h"
#include "tests/test.h"

/* numpy.pad(list(row), 11, mode), by hand for constant. */
static void places_are_those_of_numpy(void **state)
{
    static const struct {
        enum pad_mode mode;
        const char *row, *padded;
    } cases[] = {
        {PAD_CONSTANT, "abcd", "...........abcd..........."},
        {PAD_EDGE, "abcd", "aaaaaaaaaaaabcdddddddddddd"},
        {PAD_REFLECT, "abcd", "bcdcbabcdcbabcdcbabcdcbabc"},
        {PAD_SYMMETRIC, "abcd", "cbaabcddcbaabcddcbaabcddcb"},
        {PAD_REFLECT, "abcde", "dcbabcdedcbabcdedcbabcdedcb"},
        {PAD_SYMMETRIC, "abcde", "aabcdeedcbaabcdeedcbaabcdee"},
        {PAD_EDGE, "ab", "aaaaaaaaaaaabbbbbbbbbbbb"},
        {PAD_REFLECT, "ab", "babababababababababababa"},
        {PAD_SYMMETRIC, "ab", "bbaabbaabbaabbaabbaabbaa"},
        {PAD_CONSTANT, "a", "...........a..........."},
        {PAD_EDGE, "a", "aaaaaaaaaaaaaaaaaaaaaaa"},
        {PAD_REFLECT, "a", "aaaaaaaaaaaaaaaaaaaaaaa"},
        {PAD_SYMMETRIC, "a", "aaaaaaaaaaaaaaaaaaaaaaa"},
    };

    (void)state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        int n = (int)strlen(cases[c].row);
        char padded[64];

        for (int i = 0; i < n + 22; i++) {
            int s = pad_source(cases[c].mode, i - 11, n);

            padded[i] = '.';
            if (s >= 0 && s < n)
                padded[i] = cases[c].row[s];
        }
        padded[n + 22] = 0;
        assert_string_equal(padded, cases[c].padded);
    }
}

/* Checks every position, including outside the image, of a narrower and a wider crop. */
static void check_crop(const struct image *img, const struct pad_crop *c)
{
    uint8_t out[12 * 6 * 3 + 1];
    uint8_t *p = out;

    memset(out, 77, sizeof(out));
    pad_crop(img, c, out);
    for (int y = 0; y < c->h; y++)
        for (int x = 0; x < c->w; x++, p += 3) {
            int sx = pad_source(c->mode, c->x + (c->flip ? c->w - 1 - x : x), img->w);
            int sy = pad_source(c->mode, c->y + y, img->h);

            for (int ch = 0; ch < 3; ch++)
                assert_int_equal(p[ch], sx < 0 || sy < 0
                                            ? 0
                                            : img->pixel[(size_t)sy * img->stride +
                                                         3 * (size_t)sx + (size_t)ch]);
        }
    assert_int_equal(*p, 77);
}

static void crops_have_these_pixels(void **state)
{
    struct image img = {0};

    (void)state;
    image_formula(&img, 7, 5);
    for (int mode = PAD_CONSTANT; mode <= PAD_SYMMETRIC; mode++)
        for (int i = 0; i < 2 * 2 * 30 * 20; i++) {
            struct pad_crop c = {.mode = (enum pad_mode)mode, .flip = i & 1, .h = 6};

            c.w = i & 2 ? 12 : 4;
            c.x = i / 4 % 30 - 18;
            c.y = i / 120 - 10;
            check_crop(&img, &c);
        }
    image_release(&img);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_those_of_numpy),
        cmocka_unit_test(crops_have_these_pixels),
    };

    return cmocka_run_group_tests_name("image_pad", tests, NULL, NULL);
}
