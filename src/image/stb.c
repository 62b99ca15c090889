/*
 * The only user of stb_image: PNGs that png_plain.c does not read.
 *
 * Quirks: it inflates a PNG into a buffer that doubles without limit, so we provide the
 * allocator, which refuses more than the header justifies; it reports lengths as int.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/failure.h"
#include "image/decoder.h"
#include "image/png_chunks.h"
#include "image/png_cut.h"
#include "image/png_plain.h"

/* Bytes that one allocation of this thread may have; set from the header before decoding. */
static _Thread_local size_t stb_allowed;

static _Thread_local bool stb_no_memory; /* out of memory in this call */

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
#define STBI_NO_STDIO
#define STBI_MALLOC    stb_malloc
#define STBI_REALLOC   stb_realloc
#define STBI_FREE      free
#define STBI_ASSERT(x) ((x) ? (void)0 : BUG("stb_image: %s", #x))

/* Diagnosed at the end of the file, so it cannot be re-enabled. */
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
    stbi__g_failure_reason = NULL; /* not every failure sets a reason */
    return stb_no_memory ? FAILURE_MACHINE : FAILURE_DATA;
}

static bool stb_is_png(const void *data, size_t len)
{
    return len >= 8 && !memcmp(data, "\x89PNG\r\n\x1a\n", 8);
}

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

/* Decodes the whole image, w x h, of a checked file and copies the part. */
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
    image_reserve(img, part->w, part->h, channels);
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

/* A 16-bit PNG with a given range. */
static int stb_read_range(const struct decoder_file *f, int w, int h,
                          const struct image_part *part, struct image *img,
                          struct strbuf *why)
{
    int stored;
    uint16_t *pixel;
    float *value;
    size_t n = (size_t)w * (size_t)h * 3;
    double lo, hi;

    stb_allowed = (size_t)w * (size_t)h * 16 + 2 * f->len + (1 << 20);
    stb_no_memory = false;
    pixel = stbi_load_16_from_memory(f->data, (int)f->len, &w, &h, &stored, 3);
    if (!pixel)
        return stb_fail(why);
    value = xmalloc(n * sizeof(*value));
    for (size_t i = 0; i < n; i++)
        value[i] = pixel[i];
    free(pixel);
    value_range_of(&f->range, value, n, &lo, &hi);
    image_resize_reserve(img, part->w, part->h);
    img->x = part->x;
    img->y = part->y;
    for (int y = 0; y < part->h; y++)
        for (int x = 0; x < 3 * part->w; x++)
            img->pixel[(size_t)y * img->stride + (size_t)x] = value_range_byte(
                value[3 * ((size_t)(part->y + y) * (size_t)w + (size_t)part->x) +
                      (size_t)x],
                lo, hi);
    free(value);
    return 0;
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
    if (f->range.kind != RANGE_AUTO && channels == IMAGE_RGB &&
        ((const uint8_t *)f->data)[24] == 16)
        return stb_read_range(f, w, h, part, img, why);
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
    int w, h, rc = stb_png_channels(f, part, IMAGE_RGB, img, why);

    if (rc != FAILURE_DATA || !f->truncated || !png_chunks_size(f->data, f->len, &w, &h))
        return rc;
    strbuf_reset(why);
    return png_cut_read(f, w, h, part, img, why);
}

/* Gray and alpha, or RGBA, which includes palettes with transparent colors. */
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

/* Bytes: the stored pixels, twice while they are inflated, and the RGB result. */
static size_t stb_png_memory(const struct decoder_file *f, int w, int h)
{
    static const uint8_t channels[] = {1, 1, 3, 1, 2, 1, 4, 1};
    const uint8_t *d = f->data;
    size_t bits = f->len > 25 ? (size_t)d[24] * channels[d[25] & 7] : 64;

    return (size_t)w * (size_t)h * (bits > 16 ? bits / 4 + 3 : 7) +
           (f->range.kind != RANGE_AUTO && bits >= 16 ? (size_t)w * (size_t)h * 30 : 0) +
           f->len;
}

static void *stb_png_state(void)
{
    return png_plain_new();
}

static void stb_png_state_free(void *state)
{
    png_plain_free(state);
}

static int stb_png_orientation(const struct decoder_file *f)
{
    return png_chunks_orientation(f->data, f->len);
}

static bool stb_png_is_deep(const struct decoder_file *f)
{
    enum { BITS = 24 }; /* offset in the header */

    return f->len > BITS && ((const uint8_t *)f->data)[BITS] == 16;
}

const struct decoder decoder_png = {
    .name = "PNG",
    .extension = {".png"},
    .is = stb_is_png,
    .is_deep = stb_png_is_deep,
    .state_new = stb_png_state,
    .state_free = stb_png_state_free,
    .open = stb_open_png,
    .orientation = stb_png_orientation,
    .memory = stb_png_memory,
    .read = stb_read_png,
    .bands = stb_bands_png,
};
