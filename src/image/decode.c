/* Formats told apart, limits checked, the rest left to one file for each. */
#include <ctype.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "base/error.h"
#include "image/decoder.h"
#include "image/image.h"

/* A line of more pixels needs tables of more memory than its pixels when resized. */
enum { DECODE_SIDE = 1 << 20 };

/* All but JPEG, whose decoder is kept from picture to picture. */
static const struct decode_format {
    bool (*is)(const void *data, size_t len);
    int (*open)(const void *data, size_t len, int *w, int *h, struct strbuf *why);
    int (*read)(const void *data, size_t len, const struct image_part *part,
                struct image *img, struct strbuf *why);
} formats[] = {
    {stb_is, stb_open, stb_read},
    {pnm_is, pnm_open, pnm_read},
    {webp_is, webp_open, webp_read},
    {tiff_is, tiff_open, tiff_read},
};

struct image_decoder {
    struct image_limits limits;
    struct jpeg *jpeg;
    const void *data; /* of the open picture; NULL: none */
    size_t len;
    const struct decode_format *format; /* NULL: JPEG */
    int w, h;
};

struct image_limits image_limits_or_default(const struct image_limits *limits)
{
    struct image_limits l = limits ? *limits : (struct image_limits){0};

    if (l.max_pixels <= 0)
        l.max_pixels = 178956970;
    if (l.max_bytes <= 0)
        l.max_bytes = 256 << 20;
    return l;
}

struct image_decoder *image_decoder_new(const struct image_limits *limits)
{
    struct image_decoder *d = xcalloc(1, sizeof(*d));

    d->limits = image_limits_or_default(limits);
    d->jpeg = jpeg_new();
    return d;
}

void image_decoder_free(struct image_decoder *d)
{
    if (!d)
        return;
    jpeg_free(d->jpeg);
    free(d);
}

/* "unknown format", with what the file starts with: a renamed text file shows itself. */
static int decode_unknown(const uint8_t *p, size_t len, struct strbuf *why)
{
    size_t n = len < 16 ? len : 16;

    strbuf_addstr(why, "not a picture that we know: it starts with \"");
    for (size_t i = 0; i < n; i++) {
        if (isprint(p[i]) && p[i] != '"' && p[i] != '\\')
            strbuf_addch(why, (char)p[i]);
        else
            strbuf_addf(why, "\\x%02x", p[i]);
    }
    strbuf_addstr(why, "\"");
    return -1;
}

static const struct decode_format *decode_find(const void *data, size_t len)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (formats[i].is(data, len))
            return &formats[i];
    return NULL;
}

static int decode_check_size(const struct image_decoder *d, struct strbuf *why)
{
    if (d->w <= 0 || d->h <= 0) {
        strbuf_addf(why, "the header says %d x %d pixels", d->w, d->h);
        return -1;
    }
    if (d->w > DECODE_SIDE || d->h > DECODE_SIDE) {
        strbuf_addf(why, "the header says %d x %d pixels, more than %d on a side", d->w,
                    d->h, DECODE_SIDE);
        return -1;
    }
    if ((int64_t)d->w * d->h > d->limits.max_pixels) {
        strbuf_addf(why, "the header says %d x %d pixels, more than the limit of %lld",
                    d->w, d->h, (long long)d->limits.max_pixels);
        return -1;
    }
    return 0;
}

int image_decoder_open(struct image_decoder *d, const void *data, size_t len, int *w,
                       int *h, struct strbuf *why)
{
    int rc;

    d->data = NULL;
    if (len == 0) {
        strbuf_addstr(why, "the file is empty");
        return -1;
    }
    if ((uint64_t)len > (uint64_t)d->limits.max_bytes) {
        strbuf_addf(why, "%zu bytes, more than the limit of %lld", len,
                    (long long)d->limits.max_bytes);
        return -1;
    }
    d->format = decode_find(data, len);
    if (d->format)
        rc = d->format->open(data, len, &d->w, &d->h, why);
    else if (jpeg_is(data, len))
        rc = jpeg_open(d->jpeg, data, len, &d->w, &d->h, why);
    else
        rc = decode_unknown(data, len, why);
    if (rc < 0 || decode_check_size(d, why) < 0)
        return -1;
    d->data = data;
    d->len = len;
    *w = d->w;
    *h = d->h;
    return 0;
}

int image_decoder_shrinks(const struct image_decoder *d)
{
    return d->data && !d->format;
}

int image_decoder_read(struct image_decoder *d, const struct image_part *part,
                       struct image *img, struct strbuf *why)
{
    struct image_part all = {0, 0, d->w, d->h, 1};
    const void *data = d->data;

    if (!data)
        BUG("image_decoder_read without an open picture");
    if (!part)
        part = &all;
    if (part->x < 0 || part->y < 0 || part->w <= 0 || part->h <= 0 ||
        part->x > d->w - part->w || part->y > d->h - part->h)
        BUG("part %d,%d %dx%d outside a picture of %dx%d", part->x, part->y, part->w,
            part->h, d->w, d->h);
    if (part->shrink != 1 && d->format)
        BUG("only JPEG can be decoded at 1/%d", part->shrink);
    d->data = NULL;
    if (!d->format)
        return jpeg_read(d->jpeg, part, img, why);
    return d->format->read(data, d->len, part, img, why);
}
