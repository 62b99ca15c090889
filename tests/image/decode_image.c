#include "tests/image/decode_image.h"

#include <stdbool.h>
#include <string.h>

#include "base/philox.h"
#include "tests/test.h"

int decode_image(struct image_decoder *d, const void *data, size_t len,
                 const struct image_part *part, struct image *img, struct strbuf *why)
{
    int w, h;

    strbuf_reset(why);
    if (image_decoder_open(d, data, len, &w, &h, why) < 0)
        return -1;
    return image_decoder_read(d, part, img, why);
}

static struct image_part random_part(uint64_t salt, uint64_t i, int w, int h)
{
    struct philox v = philox(7, PHILOX_TEST, salt, i);
    struct image_part p = {.shrink = 1};

    p.x = (int)philox_below(v.v[0], (uint32_t)w);
    p.y = (int)philox_below(v.v[1], (uint32_t)h);
    p.w = 1 + (int)philox_below(v.v[2], (uint32_t)(w - p.x));
    p.h = 1 + (int)philox_below(v.v[3], (uint32_t)(h - p.y));
    return p;
}

void decode_check_parts(const void *data, size_t len, uint64_t salt)
{
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image whole = {0}, img = {0};

    if (decode_image(d, data, len, NULL, &whole, &why) < 0)
        fail_msg("%s", why.buf);
    for (uint64_t i = 0; i < 60; i++) {
        struct image_part p = random_part(salt, i, whole.w, whole.h);

        if (decode_image(d, data, len, &p, &img, &why) < 0)
            fail_msg("part %d,%d %dx%d: %s", p.x, p.y, p.w, p.h, why.buf);
        assert_true(img.x <= p.x && img.x + img.w >= p.x + p.w);
        assert_true(img.y <= p.y && img.y + img.h >= p.y + p.h);
        for (int y = p.y; y < p.y + p.h; y++)
            if (memcmp(img.pixel + (size_t)(y - img.y) * img.stride + 3 * (p.x - img.x),
                       whole.pixel + (size_t)y * whole.stride + 3 * p.x,
                       3 * (size_t)p.w) != 0)
                fail_msg("file %d: part %d,%d %dx%d differs in row %d", (int)salt, p.x,
                         p.y, p.w, p.h, y);
    }
    image_release(&whole);
    image_release(&img);
    strbuf_release(&why);
    image_decoder_free(d);
}

void decode_refuse(const struct image_limits *limits, const void *data, size_t len,
                   const char *reason)
{
    struct image_decoder *d = image_decoder_new(limits);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};

    assert_int_equal(decode_image(d, data, len, NULL, &img, &why), -1);
    if (!strstr(why.buf, reason))
        fail_msg("'%s' is not '%s'", why.buf, reason);
    assert_null(img.pixel);
    image_release(&img);
    strbuf_release(&why);
    image_decoder_free(d);
}
