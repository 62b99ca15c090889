#include "image/tiff_deep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "image/tiff_layout.h"

struct deep {
    int w, h, channels; /* channels kept: 1 or 3 */
    int samples;        /* samples per pixel, including dropped ones */
    int format, bytes;  /* per sample */
    bool planes, white_first, tiled;
    uint32_t block_w, block_h;
    float *value; /* [h, w, channels] */
};

static void deep_tags(struct deep *d, TIFF *t)
{
    uint16_t format = SAMPLEFORMAT_UINT, bits = 1, samples = 1, photo = 0, planar = 1;
    uint16_t extra = 0, *kind = NULL;

    (void)TIFFGetFieldDefaulted(t, TIFFTAG_SAMPLEFORMAT, &format);
    (void)TIFFGetFieldDefaulted(t, TIFFTAG_BITSPERSAMPLE, &bits);
    (void)TIFFGetFieldDefaulted(t, TIFFTAG_SAMPLESPERPIXEL, &samples);
    (void)TIFFGetFieldDefaulted(t, TIFFTAG_PLANARCONFIG, &planar);
    (void)TIFFGetFieldDefaulted(t, TIFFTAG_EXTRASAMPLES, &extra, &kind);
    (void)TIFFGetField(t, TIFFTAG_PHOTOMETRIC, &photo);
    *d = (struct deep){.samples = samples, .format = format, .bytes = bits / 8};
    d->planes = planar == PLANARCONFIG_SEPARATE && samples > 1;
    d->white_first = photo == PHOTOMETRIC_MINISWHITE;
    if (bits % 8 || (extra && kind && kind[0] == EXTRASAMPLE_ASSOCALPHA))
        return;
    if (photo == PHOTOMETRIC_RGB && samples - extra >= 3)
        d->channels = 3;
    else if (photo <= PHOTOMETRIC_MINISBLACK && samples > 0)
        d->channels = 1;
}

bool tiff_deep_is(TIFF *t)
{
    struct deep d;

    deep_tags(&d, t);
    if (!d.channels)
        return false;
    if (d.format == SAMPLEFORMAT_IEEEFP)
        return d.bytes == 4 || d.bytes == 8;
    if (d.format == SAMPLEFORMAT_INT)
        return d.bytes == 1 || d.bytes == 2 || d.bytes == 4;
    return d.format == SAMPLEFORMAT_UINT && (d.bytes == 2 || d.bytes == 4);
}

/* libtiff has converted the bytes to host order. */
static float deep_value(const struct deep *d, const uint8_t *p)
{
    union {
        int8_t i8;
        int16_t i16;
        int32_t i32;
        uint16_t u16;
        uint32_t u32;
        float f;
        double f64;
    } u;

    memcpy(&u, p, (size_t)d->bytes);
    if (d->format == SAMPLEFORMAT_IEEEFP)
        return d->bytes == 4 ? u.f : (float)u.f64;
    if (d->format == SAMPLEFORMAT_UINT)
        return d->bytes == 2 ? (float)u.u16 : (float)u.u32;
    return d->bytes == 1 ? (float)u.i8 : d->bytes == 2 ? (float)u.i16 : (float)u.i32;
}

/* Keeps samples `begin` to `end` of the pixels of a block at (x, y), which has `step`
 * samples per pixel. */
static void deep_keep(const struct deep *d, uint32_t x0, uint32_t y0,
                      const uint8_t *block, int step, int begin, int end)
{
    size_t pixel = (size_t)step * (size_t)d->bytes;
    uint32_t x1 = x0 + d->block_w, y1 = y0 + d->block_h;

    x1 = x1 < (uint32_t)d->w ? x1 : (uint32_t)d->w;
    y1 = y1 < (uint32_t)d->h ? y1 : (uint32_t)d->h;
    for (uint32_t y = y0; y < y1; y++)
        for (uint32_t x = x0; x < x1; x++) {
            const uint8_t *p = block + ((size_t)(y - y0) * d->block_w + (x - x0)) * pixel;
            float *v = d->value + ((size_t)y * (size_t)d->w + x) * (size_t)d->channels;

            for (int c = begin; c < end; c++)
                v[c] = deep_value(d, p + (size_t)(c - begin) * (size_t)d->bytes);
        }
}

/* Reads all blocks; of a file that is cut off, the existing ones. Returns false on
 * damage. */
static bool deep_blocks(const struct deep *d, TIFF *t, bool lenient, uint8_t *block,
                        size_t size)
{
    int planes = d->planes ? d->channels : 1;

    for (int p = 0; p < planes; p++)
        for (uint32_t y = 0; y < (uint32_t)d->h; y += d->block_h)
            for (uint32_t x = 0; x < (uint32_t)d->w; x += d->block_w) {
                uint16_t plane = (uint16_t)p;
                uint32_t rows = (uint32_t)d->h - y;
                size_t row = size / d->block_h, want = size, got;

                memset(block, 0, size);
                if (!d->tiled && rows < d->block_h)
                    want = rows * row;
                got = d->tiled
                          ? (size_t)TIFFReadEncodedTile(
                                t, TIFFComputeTile(t, x, y, 0, plane), block,
                                (tmsize_t)want)
                          : (size_t)TIFFReadEncodedStrip(t, TIFFComputeStrip(t, y, plane),
                                                         block, (tmsize_t)want);
                if (got != want && !lenient)
                    return false;
                deep_keep(d, x, y, block, d->planes ? 1 : d->samples, d->planes ? p : 0,
                          d->planes ? p + 1 : d->channels);
            }
    return true;
}

/* Scales integers by their type, rounded down: unsigned 16-bit values keep their high
 * byte. */
static void deep_map(const struct deep *d, const struct value_range *r,
                     const struct image_part *part, struct image *img)
{
    bool by_type = r->kind == RANGE_AUTO && d->format != SAMPLEFORMAT_IEEEFP;
    double bits = ldexp(1, 8 * d->bytes), lo, hi;
    size_t n = (size_t)d->w * (size_t)d->h * (size_t)d->channels;

    lo = d->format == SAMPLEFORMAT_INT ? -bits / 2 : 0;
    hi = lo + bits;
    if (!by_type)
        value_range_of(r, d->value, n, &lo, &hi);
    image_resize_reserve(img, part->w, part->h);
    img->x = part->x;
    img->y = part->y;
    for (int y = 0; y < part->h; y++)
        for (int x = 0; x < 3 * part->w; x++) {
            size_t pixel =
                (size_t)(part->y + y) * (size_t)d->w + (size_t)(part->x + x / 3);
            double v = d->value[pixel * (size_t)d->channels +
                                (d->channels == 3 ? (size_t)x % 3 : 0)];
            int byte =
                by_type ? (int)((v - lo) * 256 / bits) : value_range_byte(v, lo, hi);

            byte = byte < 255 ? byte : 255; /* a float cannot represent all 32-bit
                                             * values */
            img->pixel[(size_t)y * img->stride + (size_t)x] =
                (uint8_t)(d->white_first ? 255 - byte : byte);
        }
}

bool tiff_deep_read(TIFF *t, const struct decoder_file *f, const struct image_part *part,
                    struct image *img, struct strbuf *why)
{
    struct deep d;
    size_t row, together;
    uint8_t *block;
    bool good;

    deep_tags(&d, t);
    if (tiff_size(t, &d.w, &d.h, why) < 0)
        return false;
    d.tiled = TIFFIsTiled(t);
    d.block_w = (uint32_t)d.w;
    d.block_h = (uint32_t)d.h;
    if (d.tiled) {
        (void)TIFFGetField(t, TIFFTAG_TILEWIDTH, &d.block_w);
        (void)TIFFGetField(t, TIFFTAG_TILELENGTH, &d.block_h);
    } else {
        (void)TIFFGetFieldDefaulted(t, TIFFTAG_ROWSPERSTRIP, &d.block_h);
        d.block_h = d.block_h < (uint32_t)d.h ? d.block_h : (uint32_t)d.h;
    }
    together = d.planes ? 1 : (size_t)d.samples;
    row = (size_t)d.block_w * together * (size_t)d.bytes;
    if (together > IMAGE_CHANNELS ||
        !tiff_block_fits(d.w, d.h, d.block_w, d.block_h, together * (size_t)d.bytes) ||
        row != (size_t)(d.tiled ? TIFFTileRowSize(t) : TIFFScanlineSize(t))) {
        strbuf_addstr(why, "damaged: rows of another length than the header says");
        return false;
    }
    d.value = xcalloc((size_t)d.w * (size_t)d.h * (size_t)d.channels, sizeof(float));
    block = xcalloc(d.block_h, row);
    good = deep_blocks(&d, t, f->truncated, block, row * d.block_h);
    if (good)
        deep_map(&d, &f->range, part, img);
    free(block);
    free(d.value);
    return good;
}
