/*
 * stb_image behind one file: PNG, BMP and GIF.
 *
 * Quirks: it inflates a PNG into a buffer that doubles without end, so its allocator is
 * ours and refuses more than the header justifies; it reports lengths as int.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "image/decoder.h"

/* Bytes that one allocation of this thread may have; set from the header before decoding.
 */
static _Thread_local size_t stb_allowed;

static void *stb_malloc(size_t size)
{
    return size <= stb_allowed ? malloc(size) : NULL;
}

static void *stb_realloc(void *p, size_t size)
{
    return size <= stb_allowed ? realloc(p, size) : NULL;
}

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#define STBI_ONLY_BMP
#define STBI_ONLY_GIF
#define STBI_NO_STDIO
#define STBI_MALLOC    stb_malloc
#define STBI_REALLOC   stb_realloc
#define STBI_FREE      free
#define STBI_ASSERT(x) ((x) ? (void)0 : BUG("stb_image: %s", #x))

/* Judged at the end of the file, so it cannot be switched back on. */
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wnull-dereference"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include <stb/stb_image.h>
#pragma GCC diagnostic pop

static int stb_fail(struct strbuf *why)
{
    const char *reason = stbi_failure_reason();

    strbuf_addstr(why, reason && *reason ? reason : "cannot be decoded");
    stbi__g_failure_reason = NULL; /* not every failure has one of its own */
    return -1;
}

/*
 * The sides of a PNG stand at a fixed place. stb_image takes one that is too large for it
 * for no picture at all.
 */
static bool stb_png_size(const uint8_t *d, size_t len, int *w, int *h)
{
    static const uint8_t start[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    int64_t side[2];

    if (len < 24 || memcmp(d, start, 16) != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        const uint8_t *p = d + 16 + 4 * i;

        side[i] = (int64_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
    }
    if (side[0] < 1 || side[0] > INT_MAX || side[1] < 1 || side[1] > INT_MAX)
        return false;
    *w = (int)side[0];
    *h = (int)side[1];
    return true;
}

static uint32_t stb_big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/*
 * stb_image passes over the checksums in a PNG, so that damage would become noise. Each
 * chunk is length, type, data, CRC-32 of type and data; a capital begins the types that
 * count (PNG specification, 5.3 and 5.4).
 */
static int stb_png_check(const uint8_t *d, size_t len, struct strbuf *why)
{
    for (size_t at = 8, n;; at += 12 + n) {
        const uint8_t *chunk = d + at;

        if (len - at < 12 || stb_big_endian(chunk) > len - at - 12) {
            strbuf_addstr(why, "the file is cut off");
            return -1;
        }
        n = stb_big_endian(chunk);
        if (!(chunk[4] & 32) &&
            crc32(0, chunk + 4, (uInt)n + 4) != stb_big_endian(chunk + 8 + n)) {
            strbuf_addf(why, "damaged: a wrong checksum behind byte %zu", at);
            return -1;
        }
        if (!memcmp(chunk + 4, "IEND", 4))
            return 0;
    }
}

/*
 * A copy whose palette has all 256 colours, black where the file has none, as PIL takes
 * them: stb_image reads what lies on the stack. NULL: nothing is missing, or stb_image
 * says what is. The chunks up to IEND are sound; what is behind it nobody has looked at.
 */
static uint8_t *stb_png_fill(const uint8_t *d, size_t *len)
{
    enum { COLOURS = 3 * 256 };
    uint8_t *copy;

    for (size_t at = 8, n; memcmp(d + at + 4, "IEND", 4) != 0; at += 12 + n) {
        size_t end = at + 8 + (n = stb_big_endian(d + at));

        if (memcmp(d + at + 4, "PLTE", 4) != 0)
            continue;
        if (n >= COLOURS || !n || n % 3)
            return NULL;
        copy = xcalloc(1, *len + COLOURS - n);
        memcpy(copy, d, end);
        copy[at + 2] = COLOURS >> 8;
        copy[at + 3] = COLOURS & 255;
        memcpy(copy + at + 8 + COLOURS, d + end, *len - end);
        *len += COLOURS - n;
        return copy;
    }
    return NULL;
}

static uint32_t stb_little_endian(const uint8_t *p, int n)
{
    uint32_t v = 0;

    while (n--)
        v = v << 8 | p[n];
    return v;
}

/*
 * An index beyond the palette, whose length stb_image takes from where the pixels begin,
 * gets what lies on the stack.
 */
static int stb_bmp_colours(const uint8_t *d, uint64_t pixels, int w, int h,
                           struct strbuf *why)
{
    int64_t header = stb_little_endian(d + 14, 4);
    int bits = (int)stb_little_endian(d + (header == 12 ? 24 : 28), 2);
    int64_t row = ((int64_t)w * bits + 31) / 32 * 4;
    int64_t colours =
        header == 12 ? ((int64_t)pixels - 38) / 3 : ((int64_t)pixels - 14 - header) / 4;

    if (bits != 1 && bits != 4 && bits != 8)
        return 0;
    for (int64_t y = 0; y < h; y++)
        for (int64_t x = 0; x < w; x++) {
            int byte = d[(int64_t)pixels + y * row + x * bits / 8];
            int index = byte >> (8 - bits - x * bits % 8) & ((1 << bits) - 1);

            if (index >= colours) {
                strbuf_addf(why, "colour %d of a palette of %lld", index,
                            (long long)colours);
                return -1;
            }
        }
    return 0;
}

/* stb_image reads zeros behind the end. Its own checks have passed: no compression. */
static int stb_bmp_check(const uint8_t *d, size_t len, int w, int h, struct strbuf *why)
{
    bool old = len > 18 && stb_little_endian(d + 14, 4) == 12;
    uint64_t bits, row;

    if (len >= 30) {
        uint64_t pixels = stb_little_endian(d + 10, 4);

        bits = stb_little_endian(d + (old ? 24 : 28), 2);
        row = ((uint64_t)w * bits + 31) / 32 * 4;
        if (pixels + row * (uint64_t)h <= len)
            return stb_bmp_colours(d, pixels, w, h, why);
    }
    strbuf_addstr(why, "the file is cut off");
    return -1;
}

/* Where the blocks that start at `at` end, each a length and so many bytes; 0: nowhere.
 */
static size_t stb_gif_blocks(const uint8_t *d, size_t len, size_t at)
{
    while (at < len && d[at])
        at += 1u + d[at];
    return at < len ? at + 1 : 0;
}

/*
 * stb_image paints what is missing in the background's colour. A GIF is a header of 13
 * bytes and a table of colours, then extensions (0x21) and frames (0x2c) of blocks; only
 * the first frame is read.
 */
static int stb_gif_check(const uint8_t *d, size_t len, struct strbuf *why)
{
    size_t at = 13 + (len > 10 && d[10] & 128 ? (size_t)6 << (d[10] & 7) : 0);

    while (at && at + 10 < len && d[at] == 0x21)
        at = stb_gif_blocks(d, len, at + 2);
    if (at && at + 10 < len && d[at] == 0x2c) {
        at += 11 + (d[at + 9] & 128 ? (size_t)6 << (d[at + 9] & 7) : 0);
        at = stb_gif_blocks(d, len, at);
    } else if (at && at < len && d[at] != 0x21 && d[at] != 0x2c) {
        return 0; /* stb_image has a word for it */
    } else {
        at = 0;
    }
    if (!at)
        strbuf_addstr(why, "the file is cut off");
    return at ? 0 : -1;
}

static bool stb_starts(const void *data, size_t len, const char *magic, size_t n)
{
    return len >= n && !memcmp(data, magic, n);
}

static bool stb_is_png(const void *data, size_t len)
{
    return stb_starts(data, len, "\x89PNG\r\n\x1a\n", 8);
}

static bool stb_is_bmp(const void *data, size_t len)
{
    return stb_starts(data, len, "BM", 2);
}

static bool stb_is_gif(const void *data, size_t len)
{
    return stb_starts(data, len, "GIF8", 4);
}

/* Sides as stb_image finds them. */
static int stb_open(const struct decoder_file *f, int *w, int *h, struct strbuf *why)
{
    int channels;

    if (f->len > INT_MAX) {
        strbuf_addf(why, "%zu bytes, more than stb_image can read", f->len);
        return -1;
    }
    stb_allowed = 1 << 20;
    if (!stbi_info_from_memory(f->data, (int)f->len, w, h, &channels))
        return stb_fail(why);
    return 0;
}

static int stb_open_png(const struct decoder_file *f, int *w, int *h, struct strbuf *why)
{
    if (f->len <= INT_MAX && stb_png_size(f->data, f->len, w, h))
        return 0;
    return stb_open(f, w, h, why);
}

static int stb_open_bmp(const struct decoder_file *f, int *w, int *h, struct strbuf *why)
{
    if (stb_open(f, w, h, why) < 0)
        return -1;
    if (*h < 0 && *h > INT_MIN)
        *h = -*h; /* the rows go down */
    return 0;
}

/* The part of the image of w x h, of which all is sound. */
static int stb_read(const uint8_t *data, size_t len, int w, int h,
                    const struct image_part *part, struct image *img, struct strbuf *why)
{
    int channels;
    uint8_t *pixel;

    /* 16 bits x 4 channels, doubled by the growing buffer, and the compressed data */
    stb_allowed = (size_t)w * (size_t)h * 16 + 2 * len + (1 << 20);
    pixel = stbi_load_from_memory(data, (int)len, &w, &h, &channels, 3);
    if (!pixel)
        return stb_fail(why);
    image_resize_room(img, part->w, part->h);
    img->x = part->x;
    img->y = part->y;
    for (int y = 0; y < part->h; y++)
        memcpy(img->pixel + (size_t)y * img->stride,
               pixel + ((size_t)(part->y + y) * (size_t)w + (size_t)part->x) * 3,
               img->stride);
    free(pixel);
    return 0;
}

static int stb_read_png(const struct decoder_file *f, const struct image_part *part,
                        struct image *img, struct strbuf *why)
{
    size_t len = f->len;
    uint8_t *filled;
    int w, h, rc;

    if (stb_open_png(f, &w, &h, why) < 0 || stb_png_check(f->data, len, why) < 0)
        return -1;
    filled = stb_png_fill(f->data, &len);
    rc = stb_read(filled ? filled : f->data, len, w, h, part, img, why);
    free(filled);
    return rc;
}

static int stb_read_bmp(const struct decoder_file *f, const struct image_part *part,
                        struct image *img, struct strbuf *why)
{
    int w, h;

    if (stb_open_bmp(f, &w, &h, why) < 0 || stb_bmp_check(f->data, f->len, w, h, why) < 0)
        return -1;
    return stb_read(f->data, f->len, w, h, part, img, why);
}

static int stb_read_gif(const struct decoder_file *f, const struct image_part *part,
                        struct image *img, struct strbuf *why)
{
    int w, h;

    if (stb_open(f, &w, &h, why) < 0 || stb_gif_check(f->data, f->len, why) < 0)
        return -1;
    return stb_read(f->data, f->len, w, h, part, img, why);
}

const struct decoder decoder_png = {
    .name = "PNG",
    .extension = {".png"},
    .is = stb_is_png,
    .open = stb_open_png,
    .read = stb_read_png,
};

const struct decoder decoder_bmp = {
    .name = "BMP",
    .extension = {".bmp"},
    .is = stb_is_bmp,
    .open = stb_open_bmp,
    .read = stb_read_bmp,
};

const struct decoder decoder_gif = {
    .name = "GIF",
    .extension = {".gif"},
    .is = stb_is_gif,
    .open = stb_open,
    .read = stb_read_gif,
};
