/*
 * All that knows stb_image: BMP, GIF, and the PNGs that png_plain.c does not read.
 *
 * Quirks: it inflates a PNG into a buffer that doubles without end, so its allocator is
 * ours and refuses more than the header justifies; it reports lengths as int.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/failure.h"
#include "image/decoder.h"
#include "image/gif_frame.h"
#include "image/png_chunks.h"
#include "image/png_plain.h"

/* Bytes that one allocation of this thread may have; set from the header
 * before decoding. */
static _Thread_local size_t stb_allowed;

static _Thread_local bool stb_no_memory; /* the machine had none, in this call */

static void *stb_malloc(size_t size)
{
    void *p = size <= stb_allowed ? malloc(size) : NULL;

    stb_no_memory |= !p && size && size <= stb_allowed;
    return p;
}

static void *stb_realloc(void *old, size_t size)
{
    void *p = size <= stb_allowed ? realloc(old, size) : NULL;

    stb_no_memory |= !p && size && size <= stb_allowed;
    return p;
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
    return stb_no_memory ? FAILURE_MACHINE : FAILURE_DATA;
}

static uint32_t stb_little_endian(const uint8_t *p, int n)
{
    uint32_t v = 0;

    while (n--)
        v = v << 8 | p[n];
    return v;
}

/*
 * Are all indices within the palette? stb_image takes the palette's length from where the
 * pixels begin, and gives what lies on its stack for an index beyond. `pixels`: their
 * offset in the file.
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

/* Are all rows in the file? stb_image reads zeros past its end. It has refused compressed
 * BMPs before. */
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

/* The size by stb_image, whose height of a BMP may be negative. */
static int stb_open(const struct decoder_file *f, int *w, int *h, struct strbuf *why)
{
    int channels;

    if (f->len > INT_MAX) {
        strbuf_addf(why, "%zu bytes, more than stb_image can read", f->len);
        return -1;
    }
    stb_allowed = 1 << 20;
    stb_no_memory = false;
    if (!stbi_info_from_memory(f->data, (int)f->len, w, h, &channels))
        return stb_fail(why);
    return 0;
}

static int stb_open_png(const struct decoder_file *f, int *w, int *h, struct strbuf *why)
{
    if (f->len <= INT_MAX && png_chunks_size(f->data, f->len, w, h))
        return 0;
    return stb_open(f, w, h, why);
}

static int stb_open_bmp(const struct decoder_file *f, int *w, int *h, struct strbuf *why)
{
    int rc = stb_open(f, w, h, why);

    if (rc < 0)
        return rc;
    if (*h < 0 && *h > INT_MIN)
        *h = -*h; /* the rows are stored from top to bottom */
    return 0;
}

/* Decodes the whole image, w x h, whose file has been checked, and copies the part. */
static int stb_read_channels(const uint8_t *data, size_t len, int w, int h,
                             const struct image_part *part, int channels,
                             struct image *img, struct strbuf *why)
{
    int stored;
    uint8_t *pixel;

    /* 16 bits x 4 channels, doubled by the growing buffer, and the compressed data */
    stb_allowed = (size_t)w * (size_t)h * 16 + 2 * len + (1 << 20);
    stb_no_memory = false;
    pixel = stbi_load_from_memory(data, (int)len, &w, &h, &stored, channels);
    if (!pixel)
        return stb_fail(why);
    image_room(img, part->w, part->h, channels);
    img->x = part->x;
    img->y = part->y;
    for (int y = 0; y < part->h; y++)
        memcpy(img->pixel + (size_t)y * img->stride,
               pixel + ((size_t)(part->y + y) * (size_t)w + (size_t)part->x) *
                           (size_t)channels,
               img->stride);
    free(pixel);
    return 0;
}

static int stb_read(const uint8_t *data, size_t len, int w, int h,
                    const struct image_part *part, struct image *img, struct strbuf *why)
{
    return stb_read_channels(data, len, w, h, part, IMAGE_RGB, img, why);
}

static int stb_png_channels(const struct decoder_file *f, const struct image_part *part,
                            int channels, struct image *img, struct strbuf *why)
{
    size_t len = f->len;
    uint8_t *filled;
    int w, h, rc = stb_open_png(f, &w, &h, why);

    if (rc == 0)
        rc = png_chunks_check(f->data, len, why);
    if (rc < 0)
        return rc;
    rc = png_plain_read(f->state, f->data, len, part, channels, img, why);
    if (rc <= 0)
        return rc;
    filled = png_chunks_fill(f->data, &len);
    rc =
        stb_read_channels(filled ? filled : f->data, len, w, h, part, channels, img, why);
    free(filled);
    return rc;
}

static int stb_read_png(const struct decoder_file *f, const struct image_part *part,
                        struct image *img, struct strbuf *why)
{
    return stb_png_channels(f, part, IMAGE_RGB, img, why);
}

/* Grey and alpha, or RGBA, which a palette with transparent colours is, too. */
static int stb_bands_png(const struct decoder_file *f, const struct image_part *part,
                         int channels, struct image *img, struct strbuf *why)
{
    int w, h, stored, rc = stb_open_png(f, &w, &h, why);

    if (rc < 0)
        return rc;
    stb_allowed = 1 << 20;
    stb_no_memory = false;
    if (!stbi_info_from_memory(f->data, (int)f->len, &w, &h, &stored))
        return stb_fail(why);
    if (stored != channels)
        return decoder_other_channels("channel", stored, channels, why);
    return stb_png_channels(f, part, channels, img, why);
}

static int stb_read_bmp(const struct decoder_file *f, const struct image_part *part,
                        struct image *img, struct strbuf *why)
{
    int w, h, rc = stb_open_bmp(f, &w, &h, why);

    if (rc == 0)
        rc = stb_bmp_check(f->data, f->len, w, h, why);
    return rc < 0 ? rc : stb_read(f->data, f->len, w, h, part, img, why);
}

/* Decodes a copy of the file in which no colour is transparent, so that each pixel has
 * its palette's colour, as in Pillow's convert("RGB"): stb_image leaves transparent ones
 * black. */
static int stb_read_gif(const struct decoder_file *f, const struct image_part *part,
                        struct image *img, struct strbuf *why)
{
    const uint8_t *d = f->data;
    struct gif_frame frame;
    uint8_t *opaque = NULL;
    int w, h, rc = stb_open(f, &w, &h, why);

    if (rc == 0)
        rc = gif_frame_check(d, f->len, why);
    if (rc < 0)
        return rc;
    frame = gif_frame_find(d, f->len);
    if (frame.transparent) {
        opaque = xmemdup(d, f->len);
        opaque[frame.transparent] &= 0xfe;
    }
    rc = stb_read(opaque ? opaque : d, f->len, w, h, part, img, why);
    free(opaque);
    if (rc == 0)
        gif_frame_fill(&frame, frame.transparent ? d[frame.transparent + 3] : 0, img);
    return rc;
}

/* Bytes: the pixels as stored, twice while they are inflated, and as RGB. */
static size_t stb_png_memory(const struct decoder_file *f, int w, int h)
{
    static const uint8_t channels[] = {1, 1, 3, 1, 2, 1, 4, 1};
    const uint8_t *d = f->data;
    size_t bits = f->len > 25 ? (size_t)d[24] * channels[d[25] & 7] : 64;

    return (size_t)w * (size_t)h * (bits > 16 ? bits / 4 + 3 : 7) + f->len;
}

static size_t stb_bmp_memory(const struct decoder_file *f, int w, int h)
{
    (void)f;
    return (size_t)w * (size_t)h * 10;
}

/* Bytes: three images of the canvas, at most four bytes per pixel, and the result. */
static size_t stb_gif_memory(const struct decoder_file *f, int w, int h)
{
    return (size_t)w * (size_t)h * 15 + f->len;
}

static void *stb_png_state(void)
{
    return png_plain_new();
}

static void stb_png_state_free(void *state)
{
    png_plain_free(state);
}

static const uint8_t *stb_png_exif(const struct decoder_file *f, size_t *len)
{
    return png_chunks_exif(f->data, f->len, len);
}

const struct decoder decoder_png = {
    .name = "PNG",
    .extension = {".png"},
    .is = stb_is_png,
    .state_new = stb_png_state,
    .state_free = stb_png_state_free,
    .open = stb_open_png,
    .exif = stb_png_exif,
    .memory = stb_png_memory,
    .read = stb_read_png,
    .bands = stb_bands_png,
};

const struct decoder decoder_bmp = {
    .name = "BMP",
    .extension = {".bmp"},
    .is = stb_is_bmp,
    .open = stb_open_bmp,
    .memory = stb_bmp_memory,
    .read = stb_read_bmp,
};

const struct decoder decoder_gif = {
    .name = "GIF",
    .extension = {".gif"},
    .is = stb_is_gif,
    .open = stb_open,
    .memory = stb_gif_memory,
    .read = stb_read_gif,
};
