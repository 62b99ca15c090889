/* Images with their EXIF orientation applied, against Pillow; parts against the whole. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/philox.h"
#include "image/exif.h"
#include "tests/test.h"

#define GOLDEN "tests/golden/image_exif"

static void read_part(struct image_decoder *d, const char *data, size_t len,
                      const struct image_part *p, struct image *img, int size[2])
{
    struct strbuf why = STRBUF_INIT;

    if (image_decoder_open(d, data, len, &size[0], &size[1], &why) < 0 ||
        image_decoder_read(d, p, img, &why) < 0)
        fail_msg("%s", why.buf);
}

static const uint8_t *pixel(const struct image *img, int x, int y)
{
    assert_in_range(x, img->x, img->x + img->w - 1);
    assert_in_range(y, img->y, img->y + img->h - 1);
    return img->pixel + (size_t)(y - img->y) * img->stride + (size_t)(x - img->x) * 3;
}

static void expect(struct image_decoder *d, const char *name, uint64_t salt)
{
    char *path = path_join(GOLDEN, name), *rgb = xasprintf("%s.rgb", path);
    size_t len, rgb_len;
    char *data = file_read(path, &len), *want = file_read(rgb, &rgb_len);
    int tolerance = strstr(name, ".jpg") || strstr(name, ".avif"), size[2];
    struct image whole = {0}, img = {0};

    read_part(d, data, len, NULL, &whole, size);
    assert_memory_equal(size, want, 8);
    assert_int_equal(whole.w, size[0]);
    assert_int_equal(whole.h, size[1]);
    for (int y = 0; y < size[1]; y++)
        for (int x = 0; x < size[0]; x++)
            for (int c = 0; c < 3; c++)
                if (!(abs(pixel(&whole, x, y)[c] -
                          (uint8_t)want[8 + 3 * (y * size[0] + x) + c]) <= tolerance))
                    fail_msg("%s: pixel %d, %d", name, x, y);
    for (uint64_t i = 0; i < 20; i++) {
        struct philox v = philox(7, PHILOX_TEST, salt, i);
        struct image_part p = {.shrink = 1};

        p.x = (int)philox_below(v.v[0], (uint32_t)size[0]);
        p.y = (int)philox_below(v.v[1], (uint32_t)size[1]);
        p.w = 1 + (int)philox_below(v.v[2], (uint32_t)(size[0] - p.x));
        p.h = 1 + (int)philox_below(v.v[3], (uint32_t)(size[1] - p.y));
        read_part(d, data, len, &p, &img, size);
        for (int y = p.y; y < p.y + p.h; y++)
            assert_memory_equal(pixel(&img, p.x, y), pixel(&whole, p.x, y),
                                3 * (size_t)p.w);
    }
    image_release(&whole);
    image_release(&img);
    free(path);
    free(rgb);
    free(data);
    free(want);
}

static void images_are_pillows(void **state)
{
    struct image_limits limits = {.rotate = true};
    struct image_decoder *d = image_decoder_new(&limits);
    int n, compared = 0;
    char **name = dir_list(GOLDEN, &n);

    (void)state;
    for (int i = 0; i < n; i++)
        if (!strstr(name[i], ".rgb"))
            expect(d, name[i], (uint64_t)compared++);
    assert_int_equal(compared, 30);
    dir_list_free(name, n);
    image_decoder_free(d);
}

/* Without the option all images stay as stored. */
static void it_is_an_option(void **state)
{
    struct image_decoder *d = image_decoder_new(NULL);
    size_t len;
    char *data = file_read(GOLDEN "/6.png", &len);
    struct image img = {0};
    int size[2];

    (void)state;
    read_part(d, data, len, NULL, &img, size);
    assert_int_equal(img.w, 23);
    assert_int_equal(img.h, 17);
    image_release(&img);
    free(data);
    image_decoder_free(d);
}

static void blocks_may_be_anything(void **state)
{
    static const struct {
        const char *block;
        size_t len;
        int want;
    } rows[] = {
        {"II*\0\10\0\0\0\1\0\22\1\3\0\1\0\0\0\6\0\0\0", 22, 6},
        {"MM\0*\0\0\0\10\0\1\1\22\0\3\0\0\0\1\0\10\0\0", 22, 8},
        {"II*\0\10\0\0\0\1\0\22\1\3\0\1\0\0\0\11\0\0\0", 22, 1}, /* invalid value */
        {"II*\0\10\0\0\0\1\0\22\1\4\0\1\0\0\0\6\0\0\0", 22, 0},  /* not a short */
        {"II*\0\10\0\0\0\1\0\22\1\3\0\1\0\0\0\6\0\0\0", 21, 0},  /* cut off */
        {"II*\0\377\377\377\377\1\0\22\1\3\0\1\0\0\0\6\0\0\0", 22, 0},
        {"II+\0\10\0\0\0\1\0\22\1\3\0\1\0\0\0\6\0\0\0", 22, 0}, /* BigTIFF */
        {"II*\0", 4, 0},
        {"", 0, 0},
    };

    (void)state;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++)
        assert_int_equal(exif_orientation((const uint8_t *)rows[r].block, rows[r].len),
                         rows[r].want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_are_pillows),
        cmocka_unit_test(it_is_an_option),
        cmocka_unit_test(blocks_may_be_anything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
