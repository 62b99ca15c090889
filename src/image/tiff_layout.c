/* From the tags of a TIFF to the meaning of its samples; see tiff_layout.h. */
#include "image/tiff_layout.h"

#include <limits.h>
#include <string.h>

#include "base/checked.h"
#include "image/decoder.h"

/* Values of the tags, including defaults. */
struct tiff_tags {
    uint16_t format, bits, samples, planar, compression, photometric;
    uint16_t nextra;
    const uint16_t *extra;
};

int tiff_size(TIFF *t, int *w, int *h, struct strbuf *why)
{
    uint32_t width = 0, height = 0;

    TIFFGetField(t, TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(t, TIFFTAG_IMAGELENGTH, &height);
    if (width < 1 || width > INT_MAX || height < 1 || height > INT_MAX) {
        strbuf_addf(why, "the header says %u x %u pixels", width, height);
        return -1;
    }
    *w = (int)width;
    *h = (int)height;
    return 0;
}

static struct tiff_tags tiff_tags(TIFF *t)
{
    struct tiff_tags g = {.photometric = PHOTOMETRIC_MINISWHITE};

    TIFFGetFieldDefaulted(t, TIFFTAG_SAMPLEFORMAT, &g.format);
    TIFFGetFieldDefaulted(t, TIFFTAG_BITSPERSAMPLE, &g.bits);
    TIFFGetFieldDefaulted(t, TIFFTAG_SAMPLESPERPIXEL, &g.samples);
    TIFFGetFieldDefaulted(t, TIFFTAG_PLANARCONFIG, &g.planar);
    TIFFGetFieldDefaulted(t, TIFFTAG_COMPRESSION, &g.compression);
    TIFFGetFieldDefaulted(t, TIFFTAG_EXTRASAMPLES, &g.nextra, &g.extra);
    TIFFGetField(t, TIFFTAG_PHOTOMETRIC, &g.photometric);
    return g;
}

/* Accepts the compressions that PIL reads, too, and whose memory the file does not
 * control (as LZMA's). */
static int tiff_check_compression(const struct tiff_tags *g, struct strbuf *why)
{
    static const uint16_t known[] = {
        COMPRESSION_NONE,          COMPRESSION_CCITTRLE, COMPRESSION_CCITTFAX3,
        COMPRESSION_CCITTFAX4,     COMPRESSION_LZW,      COMPRESSION_JPEG,
        COMPRESSION_ADOBE_DEFLATE, COMPRESSION_DEFLATE,  COMPRESSION_PACKBITS,
        COMPRESSION_ZSTD,
    };
    const TIFFCodec *codec = TIFFFindCODEC(g->compression);

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i] == g->compression && TIFFIsCODECConfigured(g->compression))
            return 0;
    strbuf_addf(why, "the compression %d%s%s%s of TIFF is not read", g->compression,
                codec ? " (" : "", codec ? codec->name : "", codec ? ")" : "");
    return -1;
}

int tiff_check_codec(TIFF *t, struct strbuf *why)
{
    struct tiff_tags g = tiff_tags(t);

    return tiff_check_compression(&g, why);
}

static int tiff_check_samples(const struct tiff_tags *g, struct strbuf *why)
{
    if (g->format != SAMPLEFORMAT_UINT)
        strbuf_addf(why, "%s in a TIFF are not read, only 8 bits or less without sign",
                    g->format == SAMPLEFORMAT_IEEEFP ? "floating-point samples"
                                                     : "samples with a sign");
    else if (g->bits != 1 && g->bits != 2 && g->bits != 4 && g->bits != 8)
        strbuf_addf(why, "%d bits per sample in a TIFF are not read, only 1, 2, 4 and 8",
                    g->bits);
    else
        return tiff_check_compression(g, why);
    return -1;
}

static int tiff_unknown(const struct tiff_tags *g, struct strbuf *why)
{
    static const char *const name[] = {"white first", "black first", "RGB",
                                       "palette",     "mask",        "CMYK",
                                       "YCbCr",       "unknown",     "L*a*b*"};
    int last = sizeof(name) / sizeof(name[0]) - 1;

    strbuf_addf(why,
                "a TIFF of %d samples of %d bits (%d of them extra), photometric "
                "interpretation %d (%s), is not read",
                g->samples, g->bits, g->nextra, g->photometric,
                g->photometric <= last ? name[g->photometric] : "unknown");
    return -1;
}

static void tiff_indexed(const struct tiff_layout *l, const uint8_t *row, int x, int n,
                         uint8_t *rgb)
{
    int mask = (1 << l->bits) - 1;

    for (int i = x; i < x + n; i++, rgb += 3) {
        int v = l->bits == 8 ? row[i * l->step]
                             : row[i * l->bits / 8] >> (8 - l->bits - i * l->bits % 8);

        memcpy(rgb, l->table[v & mask], 3);
    }
}

static void tiff_rgb(const struct tiff_layout *l, const uint8_t *row, int x, int n,
                     uint8_t *rgb)
{
    for (const uint8_t *s = row + x * l->step; n--; s += l->step, rgb += 3)
        memcpy(rgb, s, 3);
}

/* Colors multiplied by alpha, divided as in PIL. */
static void tiff_premultiplied(const struct tiff_layout *l, const uint8_t *row, int x,
                               int n, uint8_t *rgb)
{
    for (const uint8_t *s = row + x * l->step; n--; s += l->step, rgb += 3)
        for (int c = 0; c < 3; c++) {
            int v = s[3] ? s[c] * 255 / s[3] : 0;

            rgb[c] = (uint8_t)(v < 255 ? v : 255);
        }
}

static void tiff_cmyk(const struct tiff_layout *l, const uint8_t *row, int x, int n,
                      uint8_t *rgb)
{
    for (const uint8_t *s = row + x * l->step; n--; s += l->step, rgb += 3)
        for (int c = 0; c < 3; c++)
            rgb[c] = decoder_ink(s[c], 255u - s[3]);
}

/* All three columns of the table hold the gray level. */
static void tiff_gray(const struct tiff_layout *l, const uint8_t *row, int x, int n,
                      uint8_t *gray)
{
    for (int i = 0; i < n; i++) {
        uint8_t rgb[3];

        tiff_indexed(l, row, x + i, 1, rgb);
        gray[i] = rgb[0];
    }
}

static void tiff_samples(const struct tiff_layout *l, const uint8_t *row, int x, int n,
                         uint8_t *dst)
{
    memcpy(dst, row + x * l->step, (size_t)n * (size_t)l->step);
}

void tiff_layout_row(const struct tiff_layout *l, const uint8_t *row, int x, int n,
                     uint8_t *dst)
{
    l->colors(l, row, x, n, dst);
}

static void tiff_grays(struct tiff_layout *l, bool white_first)
{
    int max = (1 << l->bits) - 1;

    for (int v = 0; v <= max; v++)
        memset(l->table[v], (white_first ? max - v : v) * 255 / max, 3);
}

static int tiff_palette(struct tiff_layout *l, TIFF *t, struct strbuf *why)
{
    const uint16_t *color[3];

    if (!TIFFGetField(t, TIFFTAG_COLORMAP, &color[0], &color[1], &color[2])) {
        strbuf_addstr(why, "damaged: no palette");
        return -1;
    }
    for (int v = 0; v < 1 << l->bits; v++)
        for (int c = 0; c < 3; c++)
            l->table[v][c] = (uint8_t)(color[c][v] >> 8);
    return 0;
}

/* Finds the color samples and their conversion to RGB. */
static int tiff_meaning(struct tiff_layout *l, TIFF *t, const struct tiff_tags *g,
                        struct strbuf *why)
{
    int colors = g->samples - g->nextra;
    bool whole = g->bits == 8,
         divided = g->nextra && g->extra[0] == EXTRASAMPLE_ASSOCALPHA;
    bool single = colors == 1 && !divided && (whole || !g->nextra);

    l->bits = g->bits;
    l->colors = tiff_indexed;
    if (single && g->photometric <= PHOTOMETRIC_MINISBLACK) {
        tiff_grays(l, g->photometric == PHOTOMETRIC_MINISWHITE);
        return 0;
    }
    if (single && g->photometric == PHOTOMETRIC_PALETTE)
        return tiff_palette(l, t, why);
    l->colors = g->photometric == PHOTOMETRIC_SEPARATED ? tiff_cmyk
                : divided                               ? tiff_premultiplied
                                                        : tiff_rgb;
    if (whole && colors == 4 && !divided && g->photometric == PHOTOMETRIC_SEPARATED)
        return 0;
    if (whole && colors == 3 && g->photometric == PHOTOMETRIC_RGB)
        return 0;
    if (whole && g->samples == 3 && g->photometric == PHOTOMETRIC_YCBCR &&
        g->compression == COMPRESSION_JPEG && g->planar == PLANARCONFIG_CONTIG &&
        TIFFSetField(t, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB))
        return 0;
    return tiff_unknown(g, why);
}

size_t tiff_block_limit(int w, int h)
{
    return 4 * (size_t)w * (size_t)h + (1 << 22);
}

bool tiff_block_fits(int w, int h, uint32_t bw, uint32_t bh, uint64_t each)
{
    enum { PIXEL = 48, SMALL = 1 << 26 }; /* bytes, as tiff_memory(); minimum limit */
    uint64_t n, area = (uint64_t)w * (uint64_t)h;

    return bw && bh && bw <= INT_MAX / 64 && checked_mul(bw, bh, &n) &&
           n <= tiff_block_limit(w, h) && checked_items(n, each, PIXEL * area + SMALL);
}

/* A sample takes at most one byte, and a separate plane is read in addition. */
static int tiff_blocks(struct tiff_layout *l, TIFF *t, const struct tiff_tags *g,
                       struct strbuf *why)
{
    bool apart = g->planar == PLANARCONFIG_SEPARATE;
    uint32_t w = (uint32_t)l->w, h = (uint32_t)l->h;

    l->tiled = TIFFIsTiled(t);
    if (l->tiled) {
        TIFFGetField(t, TIFFTAG_TILEWIDTH, &w);
        TIFFGetField(t, TIFFTAG_TILELENGTH, &h);
    } else {
        TIFFGetFieldDefaulted(t, TIFFTAG_ROWSPERSTRIP, &h);
        h = h < (uint32_t)l->h ? h : (uint32_t)l->h;
    }
    if (!tiff_block_fits(l->w, l->h, w, h, (uint64_t)g->samples + apart)) {
        strbuf_addf(why, "damaged: %s of %u x %u pixels in an image of %d x %d",
                    l->tiled ? "tiles" : "strips", w, h, l->w, l->h);
        return -1;
    }
    l->block_w = (int)w;
    l->block_h = (int)h;
    return 0;
}

/* `planes` that are read, if samples are stored by plane. */
static int tiff_rows(struct tiff_layout *l, TIFF *t, const struct tiff_tags *g,
                     int planes, struct strbuf *why)
{
    int together = g->planar == PLANARCONFIG_SEPARATE ? 1 : g->samples;

    l->planes = g->planar == PLANARCONFIG_SEPARATE ? planes : 1;
    l->row = ((size_t)l->block_w * (size_t)(l->bits * together) + 7) / 8;
    l->step = l->planes > 1 ? l->planes : together;
    if (l->row != (size_t)(l->tiled ? TIFFTileRowSize(t) : TIFFScanlineSize(t))) {
        strbuf_addstr(why, "damaged: rows of another length than the header says");
        return -1;
    }
    return 0;
}

int tiff_layout_init(struct tiff_layout *l, TIFF *t, struct strbuf *why)
{
    struct tiff_tags g = tiff_tags(t);

    memset(l, 0, sizeof(*l));
    l->out = 3;
    if (tiff_size(t, &l->w, &l->h, why) < 0 || tiff_check_samples(&g, why) < 0 ||
        tiff_meaning(l, t, &g, why) < 0 || tiff_blocks(l, t, &g, why) < 0)
        return -1;
    if (g.planar == PLANARCONFIG_SEPARATE && g.samples - g.nextra > 1 &&
        l->colors == tiff_premultiplied)
        return tiff_unknown(&g, why);
    return tiff_rows(l, t, &g, g.samples - g.nextra, why);
}

int tiff_layout_bands(struct tiff_layout *l, TIFF *t, int channels, struct strbuf *why)
{
    struct tiff_tags g = tiff_tags(t);
    bool plain = g.photometric == PHOTOMETRIC_MINISBLACK ||
                 g.photometric == PHOTOMETRIC_RGB ||
                 g.photometric == PHOTOMETRIC_SEPARATED;

    if (channels == 1 && (g.samples != 1 || g.photometric > PHOTOMETRIC_MINISBLACK)) {
        strbuf_addstr(why, "its pages are its channels, and one of them is not gray");
        return -1;
    }
    if (g.samples != channels)
        return decoder_other_channels("channel", g.samples, channels, why);
    if (channels == 1) {
        if (tiff_layout_init(l, t, why) < 0)
            return -1;
        l->colors = tiff_gray;
        l->out = 1;
        return 0;
    }
    memset(l, 0, sizeof(*l));
    l->bits = g.bits;
    l->out = channels;
    l->colors = tiff_samples;
    if (tiff_size(t, &l->w, &l->h, why) < 0 || tiff_check_samples(&g, why) < 0)
        return -1;
    if (g.bits != 8 || !plain)
        return tiff_unknown(&g, why);
    return tiff_blocks(l, t, &g, why) < 0 ? -1 : tiff_rows(l, t, &g, channels, why);
}
