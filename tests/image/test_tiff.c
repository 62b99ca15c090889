/* TIFF: parts against the whole, refused files and the reasons, limits, damage,
 * threads. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "tests/image/decode_image.h"
#include "tests/test.h"

enum {
    WIDTH = 256,
    HEIGHT,
    BITS,
    COMPRESSION,
    PHOTOMETRIC = 262,
    OFFSETS = 273,
    ROWS = 278,
    SIZES,
    COLORS = 320,
    TILE_WIDTH = 322,
    TILE_HEIGHT,
    EXTRA = 338,
    SAMPLE_FORMAT
};

static char *read_golden(const char *name, size_t *len)
{
    char *path = path_join("tests/golden/image_decode", name),
         *data = file_read(path, len);

    assert_non_null(data);
    free(path);
    return data;
}

static uint32_t little(const char *data, size_t pos, int n)
{
    uint32_t v = 0;

    while (n--)
        v = v << 8 | (uint8_t)data[pos + (size_t)n];
    return v;
}

/* Returns the 12 bytes of a tag of the first image, little endian. */
static char *entry_of(char *data, uint32_t tag)
{
    size_t pos = little(data, 4, 4);
    uint32_t n = little(data, pos, 2);

    for (uint32_t i = 0; i < n; i++)
        if (little(data, pos + 2 + 12 * i, 2) == tag)
            return data + pos + 2 + 12 * i;
    fail_msg("no tag %u", tag);
    return NULL;
}

static void put(char *dst, uint32_t v, int n)
{
    for (int i = 0; i < n; i++)
        dst[i] = (char)(v >> (8 * i));
}

/* Replaces `tag` by `type` with one 16-bit value. */
static void set(char *data, uint32_t tag, uint32_t type, uint32_t v)
{
    char *e = entry_of(data, tag);

    put(e, type, 2);
    put(e + 2, 3, 2);
    put(e + 4, 1, 4);
    put(e + 8, v, 4);
}

static void parts_equal_the_whole(void **state)
{
    int n, files = 0;
    char **name = dir_list("tests/golden/image_decode", &n);

    (void)state;
    for (int i = 0; i < n; i++) {
        size_t len;
        char *data;

        if (strcmp(path_extension(name[i]), ".tif") != 0)
            continue;
        data = read_golden(name[i], &len);
        decode_check_parts(data, len, (uint64_t)i);
        free(data);
        files++;
    }
    assert_int_equal(files, 28);
    dir_list_free(name, n);
}

static void others_have_a_reason(void **state)
{
    static const struct {
        const char *name;
        uint32_t tag, type, value;
        const char *reason;
    } cases[] = {
        {"white.tif", BITS, BITS, 12, "12 bits per sample in a TIFF are not read"},
        {"white.tif", ROWS, SAMPLE_FORMAT, 3, "floating-point samples"},
        {"white.tif", PHOTOMETRIC, PHOTOMETRIC, 8, "interpretation 8"},
        {"white.tif", PHOTOMETRIC, PHOTOMETRIC, 5, "interpretation 5"},
        {"rgb.tif", PHOTOMETRIC, PHOTOMETRIC, 6, "interpretation 6 (YCbCr)"},
        {"white.tif", COMPRESSION, COMPRESSION, 34925, "the compression 34925 (LZMA)"},
        {"white.tif", COMPRESSION, COMPRESSION, 6, "the compression 6 (Old-style JPEG)"},
        {"white.tif", COMPRESSION, COMPRESSION, 999, "the compression 999 of TIFF"},
        {"grayalpha.tif", EXTRA, EXTRA, 1, "2 samples of 8 bits (1 of them extra)"},
        {"plane_tiles.tif", EXTRA, EXTRA, 1, "4 samples of 8 bits (1 of them extra)"},
        {"palette1.tif", COLORS, 333, 1, "Colormap"},
        {"white.tif", ROWS, ROWS, 0, "RowsPerStrip"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t len;
        char *data = read_golden(cases[i].name, &len);

        set(data, cases[i].tag, cases[i].type, cases[i].value);
        decode_refuse(NULL, data, len, cases[i].reason);
        free(data);
    }
}

static void bombs_are_refused(void **state)
{
    struct image_limits limits = {.max_pixels = 23 * 17 - 1};
    size_t len;
    char *data = read_golden("plane_tiles.tif", &len);

    (void)state;
    decode_refuse(&limits, data, len, "23 x 17 pixels, more than the limit of 390");
    set(data, TILE_WIDTH, TILE_WIDTH, 16384);
    set(data, TILE_HEIGHT, TILE_HEIGHT, 16384);
    decode_refuse(NULL, data, len,
                  "tiles of 16384 x 16384 pixels in an image of 23 x 17");
    free(data);
    data = read_golden("white.tif", &len);
    set(data, WIDTH, WIDTH, 60000);
    set(data, HEIGHT, HEIGHT, 60000);
    decode_refuse(NULL, data, len, "60000 x 60000 pixels, more than the limit");
    put(entry_of(data, HEIGHT) + 2, 4, 2); /* 32 bits */
    put(entry_of(data, HEIGHT) + 8, 0x7fffffff, 4);
    put(entry_of(data, ROWS) + 2, 4, 2);
    put(entry_of(data, ROWS) + 8, 0x7fffffff, 4);
    decode_refuse(NULL, data, len, "2147483647 pixels, more than 1048576 on a side");
    set(data, ROWS, ROWS, 1); /* two billion offsets, of which one is in the file */
    decode_refuse(NULL, data, len, "");
    free(data);
}

/*
 * Returns the part of the file that matters: the first page of pages.tif, and not the
 * offset of the next image if the file ends with it.
 */
static size_t counted(const char *name, const char *data, size_t len)
{
    size_t pos = *data == 'I' ? little(data, 4, 4) : 0;

    if (strcmp(name, "pages.tif") == 0)
        len = pos + 2 + 12 * little(data, pos, 2) + 4;
    if (strcmp(name, "big.tif") == 0)
        return len - 8;
    return len == pos + 2 + 12 * little(data, pos, 2) + 4 ? len - 4 : len;
}

/* All kinds, cut at every byte: directories before or after the pixels. */
static void cut_off_fails(void **state)
{
    struct image_decoder *d = image_decoder_new(NULL);
    struct image_part first = {0, 0, 1, 1, 1};
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};
    int n;
    char **name = dir_list("tests/golden/image_decode", &n);

    (void)state;
    for (int i = 0; i < n; i++) {
        bool wanted = strcmp(path_extension(name[i]), ".tif") == 0;
        size_t len = 0;
        char *data = wanted ? read_golden(name[i], &len) : NULL;

        len = wanted ? counted(name[i], data, len) : 0;
        for (size_t cut = 1; cut < len; cut++) {
            char *copy = xmemdup(data, cut); /* so that reading past the end is
                                              * detected */

            if (decode_image(d, copy, cut, NULL, &img, &why) == 0 ||
                decode_image(d, copy, cut, &first, &img, &why) == 0)
                fail_msg("%s: %zu of %zu bytes are an image", name[i], cut, len);
            assert_true(why.len > 0);
            free(copy);
        }
        free(data);
    }
    dir_list_free(name, n);
    image_release(&img);
    strbuf_release(&why);
    image_decoder_free(d);
}

/* The directory precedes the pixels. */
static void cut_off_is_said(void **state)
{
    size_t len;
    char *data = read_golden("rgb.tif", &len);

    (void)state;
    decode_refuse(NULL, data, len - 1, "the file is cut off");
    free(data);
}

/* A JPEG that ends too early: libtiff warns and invents the rest, as in Pillow. */
static void warnings_about_pixels_are_told(void **state)
{
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};
    size_t len;
    char *data = read_golden("jpeg.tif", &len);
    char *strip = data + little(entry_of(data, OFFSETS), 8, 4);

    (void)state;
    memcpy(strip + little(entry_of(data, SIZES), 8, 4) - 40, "\xff\xd9", 2);
    assert_int_equal(decode_image(d, data, len, NULL, &img, &why), 0);
    assert_non_null(strstr(image_decoder_warning(d), "premature end of data"));
    free(data);
    data = read_golden("rgb.tif", &len);
    assert_int_equal(decode_image(d, data, len, NULL, &img, &why), 0);
    free(data);
    assert_null(image_decoder_warning(d));
    image_release(&img);
    strbuf_release(&why);
    image_decoder_free(d);
}

/* Threads that read a damaged file do not disturb the others. */
static void *read_often(void *damaged)
{
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};
    size_t len, wrong = 0;
    char *data = read_golden("jpeg.tif", &len);

    if (damaged)
        memset(data + 300, 0, 200);
    for (int i = 0; i < 200; i++)
        wrong += (decode_image(d, data, len, NULL, &img, &why) < 0) != (damaged != NULL);
    free(data);
    image_release(&img);
    strbuf_release(&why);
    image_decoder_free(d);
    return wrong ? d : NULL;
}

static void threads_are_apart(void **state)
{
    pthread_t thread[4];
    void *wrong;

    for (int i = 0; i < 4; i++)
        assert_int_equal(
            pthread_create(&thread[i], NULL, read_often, i % 2 ? state : NULL), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(thread[i], &wrong), 0);
        assert_null(wrong);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_equal_the_whole),
        cmocka_unit_test(others_have_a_reason),
        cmocka_unit_test(bombs_are_refused),
        cmocka_unit_test(cut_off_fails),
        cmocka_unit_test(cut_off_is_said),
        cmocka_unit_test(warnings_about_pixels_are_told),
        cmocka_unit_test(threads_are_apart),
    };

    return cmocka_run_group_tests_name("image_tiff", tests, NULL, NULL);
}
