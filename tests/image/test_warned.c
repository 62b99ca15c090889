/*
 * Images that are decoded despite damage: libjpeg's warnings, and files that are cut off
 * if limits.truncated accepts them.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/philox.h"
#include "tests/image/decode_image.h"
#include "tests/image/make_jpeg.h"
#include "tests/test.h"

#define FOLDER "tests/golden/image_decode"

static char *read_golden(const char *name, size_t *len)
{
    char *path = path_join(FOLDER, name), *data = file_read(path, len);

    assert_non_null(data);
    free(path);
    return data;
}

/* Returns the offset of the bytes 0xff and `low` to `high` after `pos`. */
static size_t marker_after(const uint8_t *d, size_t len, size_t pos, int low, int high)
{
    for (; pos + 1 < len; pos++)
        if (d[pos] == 0xff && d[pos + 1] >= low && d[pos + 1] <= high)
            return pos;
    fail_msg("no marker");
    return 0;
}

/* Six bytes before the first restart marker, on which no pixel depends. */
static void bytes_before_a_restart_marker(void **state)
{
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image clean = {0}, odd = {0};
    size_t len, pos;
    char *data = read_golden("restart.jpg", &len);
    uint8_t *more = xmalloc(len + 6);

    (void)state;
    pos = marker_after((uint8_t *)data, len, 0, 0xda, 0xda);
    pos = marker_after((uint8_t *)data, len, pos + 2, 0xd0, 0xd7);
    memcpy(more, data, pos);
    memset(more + pos, 0x55, 6);
    memcpy(more + pos + 6, data + pos, len - pos);
    assert_int_equal(decode_image(d, data, len, NULL, &clean, &why), 0);
    assert_null(image_decoder_warning(d));
    if (decode_image(d, more, len + 6, NULL, &odd, &why) < 0)
        fail_msg("%s", why.buf);
    assert_non_null(strstr(image_decoder_warning(d), "6 extraneous bytes"));
    assert_memory_equal(clean.pixel, odd.pixel, clean.stride * (size_t)clean.h);
    decode_check_parts(more, len + 6, 1);
    image_decoder_forget(d);
    assert_null(image_decoder_warning(d));
    free(data);
    free(more);
    image_release(&clean);
    image_release(&odd);
    strbuf_release(&why);
    image_decoder_free(d);
}

/* Wrong bytes inside the scan: decoded with a warning, and parts equal parts of the
 * whole. */
static void bad_codes_are_decoded(void **state)
{
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};
    int warned = 0;

    (void)state;
    for (uint64_t k = 0; k < 60; k++) {
        struct make_jpeg m = {.w = 173, .h = 131, .progressive = k & 1};
        size_t len, scan, pos;
        uint8_t *data = make_jpeg(&m, &len);
        struct philox v = philox(11, PHILOX_TEST, k, 0);

        scan = marker_after(data, len, 0, 0xda, 0xda) + 16;
        pos = scan + philox_below(v.v[0], (uint32_t)(len - scan - 10));
        for (int i = 0; i < 9; i++)
            data[pos + (size_t)i] = (uint8_t)(v.v[1] >> 3 * i & 0x7f);
        if (decode_image(d, data, len, NULL, &img, &why) == 0) { /* not inside a table */
            warned += image_decoder_warning(d) != NULL;
            decode_check_parts(data, len, k);
        }
        free(data);
    }
    assert_in_range(warned, 10, 60);
    image_release(&img);
    strbuf_release(&why);
    image_decoder_free(d);
}

/* Files that are cut off: refused, or with limits.truncated decoded with a warning; then
 * the first row (the last one, if stored upside down) equals that of the whole. */
static void cut_files_are_taken_where_asked(void **state)
{
    static const struct {
        const char *name;
        size_t cut;
        bool upside_down;
    } files[] = {{"rgb.jpg", 20, false},     {"progressive.jpg", 20, false},
                 {"rgb.png", 24, false},     {"gray16.png", 24, false},
                 {"palette.png", 24, false}, {"rgb.ppm", 20, false},
                 {"plain.ppm", 20, false},   {"bits.pbm", 20, false},
                 {"palette.gif", 20, false}, {"rgb.bmp", 20, true},
                 {"rle8.bmp", 60, true},     {"down.bmp", 20, false},
                 {"rgb24.tga", 20, true},    {"runs24.tga", 20, true},
                 {"full.ico", 200, true},    {"rgb.tif", 20, false}};
    struct image_limits limits = {.truncated = true};
    struct image_decoder *strict = image_decoder_new(NULL),
                         *lenient = image_decoder_new(&limits);
    struct strbuf why = STRBUF_INIT;
    struct image whole = {0}, img = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        size_t len, row, cut;
        char *data = read_golden(files[i].name, &len);

        cut = len - files[i].cut;
        assert_int_equal(decode_image(lenient, data, len, NULL, &whole, &why), 0);
        assert_null(image_decoder_warning(lenient));
        assert_int_equal(decode_image(strict, data, cut, NULL, &img, &why), -1);
        if (decode_image(lenient, data, cut, NULL, &img, &why) < 0)
            fail_msg("%s: %s", files[i].name, why.buf);
        if (!image_decoder_warning(lenient))
            fail_msg("%s: no warning", files[i].name);
        assert_int_equal(img.h, whole.h);
        row = (size_t)(files[i].upside_down ? img.h - 1 : 0) * img.stride;
        if (!strstr(files[i].name, "progressive") &&
            memcmp(img.pixel + row, whole.pixel + row, img.stride) != 0)
            fail_msg("%s: the first row differs", files[i].name);
        free(data);
    }
    image_release(&whole);
    image_release(&img);
    strbuf_release(&why);
    image_decoder_free(strict);
    image_decoder_free(lenient);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_before_a_restart_marker),
        cmocka_unit_test(bad_codes_are_decoded),
        cmocka_unit_test(cut_files_are_taken_where_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
