/* WebP: parts against the whole, limits, contradictory sizes, cut files. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <webp/encode.h>

#include "base/alloc.h"
#include "base/file.h"
#include "tests/image/decode_image.h"
#include "tests/image/make_jpeg.h"
#include "tests/test.h"

struct kind {
    int w, h, lossless, filter_type, partitions;
};

/* Returns the image of make_jpeg. Free with WebPFree. */
static uint8_t *make_webp(const struct kind *k, size_t *len)
{
    struct make_jpeg m = {.w = k->w, .h = k->h, .h_factor = 1, .v_factor = 1};
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};
    size_t jpeg_len;
    uint8_t *jpeg = make_jpeg(&m, &jpeg_len);
    WebPMemoryWriter out;
    WebPPicture p;
    WebPConfig c;

    assert_int_equal(decode_image(d, jpeg, jpeg_len, NULL, &img, &why), 0);
    assert_true(WebPPictureInit(&p) && WebPConfigInit(&c));
    WebPMemoryWriterInit(&out);
    p.width = k->w;
    p.height = k->h;
    p.use_argb = k->lossless;
    p.writer = WebPMemoryWrite;
    p.custom_ptr = &out;
    c.lossless = k->lossless;
    c.filter_type = k->filter_type;
    c.filter_strength = 90;
    c.partitions = k->partitions;
    assert_true(WebPPictureImportRGB(&p, img.pixel, (int)img.stride));
    assert_true(WebPEncode(&c, &p));
    *len = out.size;
    WebPPictureFree(&p);
    free(jpeg);
    image_release(&img);
    strbuf_release(&why);
    image_decoder_free(d);
    return out.mem;
}

static void parts_equal_the_whole(void **state)
{
    static const struct kind kinds[] = {
        {173, 131, 0, 1, 0}, {160, 128, 0, 0, 2}, {173, 70, 1, 0, 0},
        {17, 19, 0, 1, 0},   {1, 1, 0, 1, 0},     {2, 3, 1, 0, 0},
    };
    static const char *const files[] = {"rgba.webp", "moving.webp", "moving_lossy.webp"};

    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        size_t len;
        uint8_t *data = make_webp(&kinds[i], &len);

        decode_check_parts(data, len, i);
        WebPFree(data);
    }
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char *path = path_join("tests/golden/image_decode", files[i]);
        size_t len;
        char *data = file_read(path, &len);

        decode_check_parts(data, len, 100 + i);
        free(data);
        free(path);
    }
}

static void bombs_are_refused(void **state)
{
    /* 16384 x 16384, lossless: the maximum of a frame */
    static const char frame[] = "RIFF\x14\0\0\0WEBPVP8L\x08\0\0\0\x2f\xff\xff\xff\x0f"
                                "\0\0\0";
    /* the canvas of an animation: 2^24 x 1 and 60000 x 60000 */
    static const char line[] = "RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\x02\0\0\0\xff\xff\xff"
                               "\0\0\0";
    static const char canvas[] = "RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\x02\0\0\0\x5f\xea\0"
                                 "\x5f\xea\0";
    struct image_limits limits = {.max_pixels = 23 * 17 - 1};
    size_t len;
    char *data = file_read("tests/golden/image_decode/lossy.webp", &len);

    (void)state;
    decode_refuse(NULL, frame, sizeof(frame) - 1,
                  "16384 x 16384 pixels, more than the limit");
    decode_refuse(NULL, line, sizeof(line) - 1,
                  "16777216 x 1 pixels, more than 1048576 on a side");
    decode_refuse(NULL, canvas, sizeof(canvas) - 1,
                  "60000 x 60000 pixels, more than the limit");
    decode_refuse(&limits, data, len, "23 x 17 pixels, more than the limit of 390");
    free(data);
}

/* The image data claim 16 x 16 pixels while the frame has 11 x 9. */
static void frames_have_their_size(void **state)
{
    size_t len;
    char *data = file_read("tests/golden/image_decode/moving.webp", &len);
    char *pixels = memmem(data, len, "VP8L", 4);

    (void)state;
    assert_non_null(pixels);
    pixels[9] = 15;
    pixels[10] = (char)(15 >> 2 | 3 << 6);
    pixels[11] = 3;
    decode_refuse(NULL, data, len, "damaged");
    free(data);
}

/*
 * No cut file is an image, even if its header has the shorter length, unless only data
 * after the first frame are missing.
 */
static void cut_off_fails(void **state)
{
    static const struct {
        const char *name;
        bool still;
    } files[] = {{"lossy.webp", 1},  {"lossless.webp", 1},      {"rgba.webp", 1},
                 {"moving.webp", 0}, {"rgba_lossless.webp", 1}, {"rotated.webp", 0}};

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char *path = path_join("tests/golden/image_decode", files[i].name);
        size_t len;
        char *data = file_read(path, &len);

        for (size_t cut = 1; cut < len; cut++) {
            char *copy = xmemdup(data, cut); /* so that reading past the end is
                                              * detected */

            decode_refuse(NULL, copy, cut,
                          cut < 12 ? "no image of a known format"
                                   : "the file is cut off");
            if (cut >= 12 && files[i].still) {
                copy[4] = (char)(cut - 8);
                copy[5] = (char)((cut - 8) >> 8);
                decode_refuse(NULL, copy, cut, "");
            }
            free(copy);
        }
        free(data);
        free(path);
    }
}

/* Data after the last chunk are ignored. */
static void files_end_at_their_end(void **state)
{
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};
    size_t len;
    char *data = file_read("tests/golden/image_decode/lossy.webp", &len);
    char *longer = xcalloc(1, len + 5);

    (void)state;
    memcpy(longer, data, len);
    if (decode_image(d, longer, len + 5, NULL, &img, &why))
        fail_msg("%s", why.buf);
    assert_int_equal(img.w, 23);
    free(longer);
    free(data);
    image_release(&img);
    strbuf_release(&why);
    image_decoder_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_equal_the_whole),  cmocka_unit_test(bombs_are_refused),
        cmocka_unit_test(frames_have_their_size), cmocka_unit_test(cut_off_fails),
        cmocka_unit_test(files_end_at_their_end),
    };

    return cmocka_run_group_tests_name("image_webp", tests, NULL, NULL);
}
