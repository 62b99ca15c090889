/* Predicted label maps as images: class of a pixel, colors, scale, and files. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "dataset/dataset.h"
#include "image/image.h"
#include "io/tensorboard.h"
#include "tests/test.h"
#include "train/paint.h"

enum { W = 4, H = 2 };

static void test_argmax(void **state)
{
    const float z[] = {0, 2, 1, 3, 3, 1, -5, -6, -4, 1, NAN, 2, 0, 1, NAN};
    uint8_t label[5];

    (void)state;
    paint_argmax(z, 5, 3, label);
    assert_int_equal(label[0], 1);
    assert_int_equal(label[1], 0); /* ties go to the first */
    assert_int_equal(label[2], 2);
    assert_int_equal(label[3], 0); /* as in the scores: a NaN */
    assert_int_equal(label[4], 0);
}

/* Each label covers 2 x 2 pixels in the middle of a wider image. */
static void test_labels(void **state)
{
    const struct class_set *set = class_set_find("camvid11");
    const uint8_t label[] = {3, LABEL_IGNORE};
    uint8_t rgb[H][W + 2][3], road[3];
    struct paint p = {
        .dst = rgb[0][1], .stride = sizeof(rgb[0]), .w = W, .h = H, .scale = 2};

    (void)state;
    memset(rgb, 7, sizeof(rgb));
    class_set_color(set, 3, road);
    paint_labels(&p, set, label);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W + 2; x++)
            for (int c = 0; c < 3; c++)
                assert_int_equal(rgb[y][x][c], x < 1 || x > 4 ? 7 : x < 3 ? road[c] : 0);
}

static void test_overlay(void **state)
{
    const struct class_set *set = class_set_find("camvid11");
    const uint8_t rgb[] = {10, 20, 30, 40, 50, 60}, label[] = {LABEL_IGNORE, 3};
    uint8_t color[3], dst[6];

    (void)state;
    class_set_color(set, 3, color);
    paint_overlay(set, rgb, label, 2, dst);
    assert_memory_equal(dst, rgb, 3);
    for (int c = 0; c < 3; c++)
        assert_int_equal(dst[3 + c], (rgb[3 + c] + color[c]) / 2);
}

/* Pixels of the PNG are class indices; its palette has the colors of the set. */
static void test_file(void **state)
{
    const struct class_set *set = class_set_find("cityscapes19");
    const uint8_t label[W * H] = {0, 1, 2, 3, 18, 17, LABEL_IGNORE, 5};
    uint8_t palette[256 * 3];
    char path[] = "/tmp/trainc-paint-XXXXXX";
    struct label_reader values = {0};
    struct image img = {0};
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    int w, h, fd = mkstemp(path);
    size_t len;
    char *data;

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    paint_palette(set, palette);
    paint_write(path, label, W, H, palette);
    data = file_read(path, &len);
    assert_non_null(data);
    assert_int_equal(label_read(&values, data, len, NULL, &why), 0);
    assert_int_equal(values.w, W);
    assert_int_equal(values.h, H);
    assert_memory_equal(values.pixel, label, sizeof(label));
    assert_int_equal(image_decoder_open(d, data, len, &w, &h, &why), 0);
    assert_int_equal(image_decoder_read(d, NULL, &img, &why), 0);
    for (int i = 0; i < W * H; i++)
        for (int c = 0; c < 3; c++) {
            uint8_t want[3] = {0};

            if (label[i] != LABEL_IGNORE)
                class_set_color(set, label[i], want);
            assert_int_equal(
                img.pixel[(size_t)(i / W) * img.stride + (size_t)(i % W * 3 + c)],
                want[c]);
        }
    (void)unlink(path);
    label_reader_release(&values);
    image_release(&img);
    image_decoder_free(d);
    strbuf_release(&why);
    free(data);
}

static bool contains(const char *data, size_t len, const void *what, size_t n)
{
    for (size_t i = 0; i + n <= len; i++)
        if (!memcmp(data + i, what, n))
            return true;
    return false;
}

/* Summary.Value: tag (1) and image (4) with height, width, color space, and bytes. */
static void test_event(void **state)
{
    static const char want[] = "\x0a\x05"
                               "val/x"
                               "\x22\x0d\x08\x02\x10\xac\x02\x18\x03\x22\x04\x89PNG";
    char dir[] = "/tmp/trainc-paint-XXXXXX";
    struct tensorboard t;
    char *data, *path;
    size_t len;

    (void)state;
    assert_non_null(mkdtemp(dir));
    tensorboard_open(&t, dir, 0);
    path = strdup(t.path);
    tensorboard_image(&t, "val/x", 3, 300, 2, "\x89PNG", 4);
    tensorboard_close(&t);
    data = file_read(path, &len);
    assert_non_null(data);
    assert_true(contains(data, len, want, sizeof(want) - 1));
    (void)unlink(path);
    (void)rmdir(dir);
    free(path);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_argmax),  cmocka_unit_test(test_labels),
        cmocka_unit_test(test_overlay), cmocka_unit_test(test_file),
        cmocka_unit_test(test_event),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
