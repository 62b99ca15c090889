/*
 * The only user of libtiff: TIFF. Of several pages the first is read, or all as the
 * channels of one image. tiff_layout.c interprets the pixels.
 *
 * Quirks: its messages go to handlers of the process, which threads would share; we give
 * each file its own handlers and clear the global ones, which a few messages still use.
 * Where it only warns about pixels (for example of a JPEG that ends early) it invents
 * them, as Pillow does; warnings about important tags are errors. Each of its allocations
 * is limited: while the header is read, by the file's length, afterwards by the size in
 * the header.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/failure.h"
#include "image/decoder.h"
#include "image/exif.h"
#include "image/tiff_deep.h"
#include "image/tiff_layout.h"

/* The file, and libtiff's first message about it. */
struct tiff_source {
    const struct decoder_file *file;
    const uint8_t *data;
    size_t len, pos;
    bool pixels; /* pixels are being read: warnings concern them */
    char reason[200];
    char warning[200]; /* the first about pixels */
};

static bool tiff_is(const void *data, size_t len)
{
    return len >= 4 && (!memcmp(data, "II*\0", 4) || !memcmp(data, "MM\0*", 4) ||
                        !memcmp(data, "II+\0", 4) || !memcmp(data, "MM\0+", 4));
}

__attribute__((format(printf, 4, 0))) static int
tiff_on_error(TIFF *t, void *user, const char *module, const char *format, va_list ap)
{
    struct tiff_source *s = user;

    (void)t;
    (void)module;
    if (!*s->reason)
        vsnprintf(s->reason, sizeof(s->reason), format, ap);
    return 1;
}

/*
 * True if a warning about the directory is an error: the file is cut off, or libtiff
 * would use the default of a tag that defines the meaning of the pixels.
 */
static bool tiff_matters(const char *text)
{
    static const char *const name[] = {
        "IO error during reading", "\"BitsPerSample\"",   "\"ColorMap\"",
        "\"Compression\"",         "\"ExtraSamples\"",    "\"FillOrder\"",
        "\"Group3Options\"",       "\"JPEGTables\"",      "\"PhotometricInterpretation\"",
        "\"PlanarConfiguration\"", "\"Predictor\"",       "\"RowsPerStrip\"",
        "\"SampleFormat\"",        "\"SamplesPerPixel\"",
    };

    for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++)
        if (strstr(text, name[i]))
            return true;
    return false;
}

__attribute__((format(printf, 4, 0))) static int
tiff_on_warning(TIFF *t, void *user, const char *module, const char *format, va_list ap)
{
    struct tiff_source *s = user;
    char text[sizeof(s->reason)];

    (void)t;
    (void)module;
    vsnprintf(text, sizeof(text), format, ap);
    if (strstr(text, "Old-style LZW codes")) /* libtiff reads these */
        return 1;
    if (s->pixels && !*s->warning)
        memcpy(s->warning, text, sizeof(text));
    if (!s->pixels && !*s->reason && tiff_matters(text))
        memcpy(s->reason, text, sizeof(text));
    return 1;
}

static tmsize_t tiff_on_read(thandle_t handle, void *dst, tmsize_t n)
{
    struct tiff_source *s = handle;
    size_t left = s->pos < s->len ? s->len - s->pos : 0;
    size_t n_copied = (size_t)n < left ? (size_t)n : left;

    memcpy(dst, s->data + s->len - left, n_copied);
    s->pos += n_copied;
    return (tmsize_t)n_copied;
}

static tmsize_t tiff_on_write(thandle_t handle, void *src, tmsize_t n)
{
    (void)handle;
    (void)src;
    (void)n;
    return -1;
}

static toff_t tiff_on_seek(thandle_t handle, toff_t offset, int whence)
{
    struct tiff_source *s = handle;

    s->pos = offset + (whence == SEEK_CUR ? s->pos : whence == SEEK_END ? s->len : 0);
    return s->pos;
}

static toff_t tiff_on_size(thandle_t handle)
{
    return ((struct tiff_source *)handle)->len;
}

static int tiff_on_close(thandle_t handle)
{
    (void)handle;
    return 0;
}

static void tiff_silence(void)
{
    TIFFSetErrorHandler(NULL);
    TIFFSetWarningHandler(NULL);
}

/* True for libtiff's message when malloc fails. An allocation above our limit has another
 * message, which comes first. */
static bool tiff_no_memory(const char *reason)
{
    static const char *const text[] = {"Out of memory", "Failed to allocate", "No space"};

    for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++)
        if (strstr(reason, text[i]))
            return true;
    return false;
}

static int tiff_fail(const struct tiff_source *s, struct strbuf *why)
{
    strbuf_addstr(why, *s->reason ? s->reason : "damaged: libtiff cannot read it");
    return tiff_no_memory(s->reason) ? FAILURE_MACHINE : FAILURE_DATA;
}

/* Opens the file; *open must be closed only if this returns 0; otherwise gives a reason.
 * No allocation of libtiff exceeds `allowed`. */
static int tiff_start(struct tiff_source *s, size_t allowed, TIFF **open,
                      struct strbuf *why)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    TIFFOpenOptions *o;
    TIFF *t;

    pthread_once(&once, tiff_silence);
    o = TIFFOpenOptionsAlloc();
    if (!o)
        die("out of memory: no decoder of TIFF");
    TIFFOpenOptionsSetErrorHandlerExtR(o, tiff_on_error, s);
    TIFFOpenOptionsSetWarningHandlerExtR(o, tiff_on_warning, s);
    TIFFOpenOptionsSetMaxSingleMemAlloc(o, (tmsize_t)allowed);
    t = TIFFClientOpenExt("TIFF", "rm", s, tiff_on_read, tiff_on_write, tiff_on_seek,
                          tiff_on_close, tiff_on_size, NULL, NULL, o);
    TIFFOpenOptionsFree(o);
    *open = t;
    if (t && !*s->reason)
        return 0;
    if (t)
        TIFFClose(t);
    return tiff_fail(s, why);
}

static int tiff_open(const struct decoder_file *f, int *w, int *h, struct strbuf *why)
{
    struct tiff_source s = {.file = f, .data = f->data, .len = f->len};
    TIFF *t;
    int rc = tiff_start(&s, 16 * f->len + (1 << 16), &t, why);

    if (rc < 0)
        return rc;
    rc = tiff_size(t, w, h, why);
    TIFFClose(t);
    return rc;
}

/* True if strips or tiles lie past the end. libtiff would report them one by one, and
 * some never. */
static bool tiff_is_cut(TIFF *t, size_t len)
{
    uint32_t n = TIFFIsTiled(t) ? TIFFNumberOfTiles(t) : TIFFNumberOfStrips(t);

    for (uint32_t i = 0; i < n; i++) {
        uint64_t pos = TIFFGetStrileOffset(t, i), size = TIFFGetStrileByteCount(t, i);

        if (pos > len || size > len - pos)
            return true;
    }
    return false;
}

/* Reads the strip or tile at pixel (x, y), of one plane, into `dst`. Returns false if it
 * is damaged. Bytes that libtiff does not set are 0. */
static bool tiff_block(TIFF *t, const struct tiff_layout *l, int x, int y, int plane,
                       uint8_t *dst)
{
    int rows = l->tiled || l->h - y > l->block_h ? l->block_h : l->h - y;
    tmsize_t size = (tmsize_t)l->row * rows, got;
    uint32_t ux = (uint32_t)x, uy = (uint32_t)y;

    memset(dst, 0, (size_t)size);
    if (l->tiled)
        got = TIFFReadEncodedTile(t, TIFFComputeTile(t, ux, uy, 0, (uint16_t)plane), dst,
                                  size);
    else
        got =
            TIFFReadEncodedStrip(t, TIFFComputeStrip(t, uy, (uint16_t)plane), dst, size);
    return got == size;
}

/* Reads all planes of a block, interleaved, into `dst`; `one` has room for one plane.
 * Returns false on damage; with `lenient`, reads what it can. */
static bool tiff_planes(TIFF *t, const struct tiff_layout *l, int x, int y, bool lenient,
                        uint8_t *one, uint8_t *dst)
{
    size_t n = l->row * (size_t)l->block_h, step = (size_t)l->step;

    if (l->planes == 1)
        return tiff_block(t, l, x, y, 0, dst) || lenient;
    for (int p = 0; p < l->planes; p++) {
        if (!tiff_block(t, l, x, y, p, one) && !lenient)
            return false;
        for (size_t i = 0; i < n; i++)
            dst[i * step + (size_t)p] = one[i];
    }
    return true;
}

/* Reads the part into `img`, block (strip or tile) by block; `block` has room for one
 * block, `one` for one plane of it. */
static bool tiff_pixels(TIFF *t, const struct tiff_layout *l, const struct image_part *p,
                        bool lenient, struct image *img, uint8_t *one, uint8_t *block)
{
    int bw = l->block_w, bh = l->block_h;

    for (int y = p->y - p->y % bh; y < p->y + p->h; y += bh)
        for (int x = p->x - p->x % bw; x < p->x + p->w; x += bw) {
            int x0 = x > p->x ? x : p->x,
                x1 = x + bw < p->x + p->w ? x + bw : p->x + p->w;
            int y0 = y > p->y ? y : p->y,
                y1 = y + bh < p->y + p->h ? y + bh : p->y + p->h;

            if (!tiff_planes(t, l, x, y, lenient, one, block))
                return false;
            for (int r = y0; r < y1; r++)
                tiff_layout_row(l, block + (size_t)(r - y) * l->row * (size_t)l->planes,
                                x0 - x, x1 - x0,
                                img->pixel + (size_t)(r - p->y) * img->stride +
                                    (size_t)l->out * (size_t)(x0 - p->x));
        }
    return true;
}

/* Returns the result that follows from libtiff's messages about the pixels. */
static int tiff_end(struct tiff_source *s, bool good, struct strbuf *why)
{
    if (good && s->file->truncated && *s->reason && !tiff_no_memory(s->reason)) {
        decoder_warn(s->file, s->reason);
        *s->reason = '\0';
    }
    return good && !*s->reason ? 0 : tiff_fail(s, why);
}

/* Reads the part of the open page, whose layout is known, into `img`. */
static int tiff_page(TIFF *t, struct tiff_source *s, const struct tiff_layout *l,
                     const struct image_part *part, struct image *img, struct strbuf *why)
{
    const struct decoder_file *f = s->file;
    size_t plane = l->row * (size_t)l->block_h;
    uint8_t *memory;
    bool good;

    if (tiff_is_cut(t, s->len) && decoder_cut(f, why) < 0)
        return FAILURE_DATA;
    image_reserve(img, part->w, part->h, l->out);
    img->x = part->x;
    img->y = part->y;
    memory = xcalloc((size_t)(l->planes == 1 ? 1 : l->planes + 1), plane);
    s->pixels = true;
    good = tiff_pixels(t, l, part, f->truncated, img, memory,
                       memory + (l->planes == 1 ? 0 : plane));
    s->pixels = false;
    free(memory);
    if (*s->warning)
        decoder_warn(f, s->warning);
    return tiff_end(s, good, why);
}

/* Same for a page of more than 8 bits. */
static int tiff_deep(TIFF *t, struct tiff_source *s, const struct image_part *part,
                     struct image *img, struct strbuf *why)
{
    const struct decoder_file *f = s->file;
    bool good;

    if (tiff_check_codec(t, why) < 0 ||
        (tiff_is_cut(t, s->len) && decoder_cut(f, why) < 0))
        return FAILURE_DATA;
    s->pixels = true;
    good = tiff_deep_read(t, f, part, img, why);
    s->pixels = false;
    if (*s->warning)
        decoder_warn(f, s->warning);
    if (!good && why->len)
        return FAILURE_DATA;
    return tiff_end(s, good, why);
}

/* Counts the pages, up to `channels` + 1. */
static int tiff_pages(TIFF *t, int channels)
{
    int n = 1;

    while (n <= channels && !TIFFLastDirectory(t) && TIFFReadDirectory(t))
        n++;
    return n;
}

/* Reads each page as one channel of `img`. */
static int tiff_weave(TIFF *t, struct tiff_source *s, const struct image_part *part,
                      int channels, struct image *img, struct strbuf *why)
{
    struct image page = {0};
    struct tiff_layout l;
    int w = 0, h = 0, rc = 0;

    image_reserve(img, part->w, part->h, channels);
    img->x = part->x;
    img->y = part->y;
    for (int c = 0; c < channels && rc == 0; c++) {
        if (!TIFFSetDirectory(t, (tdir_t)c) || *s->reason)
            rc = tiff_fail(s, why);
        else
            rc = tiff_layout_bands(&l, t, 1, why);
        if (rc < 0)
            break;
        if (c > 0 && (l.w != w || l.h != h)) {
            strbuf_addf(why, "page %d has %d x %d pixels, and page 1 %d x %d", c + 1, l.w,
                        l.h, w, h);
            rc = FAILURE_DATA;
        }
        w = l.w;
        h = l.h;
        rc = rc < 0 ? rc : tiff_page(t, s, &l, part, &page, why);
        for (size_t i = 0, n = (size_t)part->w * (size_t)part->h; i < n && rc == 0; i++)
            img->pixel[i * (size_t)channels + (size_t)c] = page.pixel[i];
    }
    image_release(&page);
    return rc;
}

static int tiff_part(TIFF *t, struct tiff_source *s, const struct image_part *part,
                     int channels, struct image *img, struct strbuf *why)
{
    struct tiff_layout l;
    int pages = channels == IMAGE_RGB ? 1 : tiff_pages(t, channels);

    if (pages == channels)
        return tiff_weave(t, s, part, channels, img, why);
    if (pages > channels) {
        strbuf_addf(why, "it has more than %d pages, and MODEL.IN_CHANS is %d", channels,
                    channels);
        return FAILURE_DATA;
    }
    if (pages > 1)
        return decoder_other_channels("page", pages, channels, why);
    if (channels == IMAGE_RGB && tiff_deep_is(t))
        return tiff_deep(t, s, part, img, why);
    if (channels == IMAGE_RGB ? tiff_layout_init(&l, t, why) < 0
                              : tiff_layout_bands(&l, t, channels, why) < 0)
        return -1;
    return tiff_page(t, s, &l, part, img, why);
}

static int tiff_bands(const struct decoder_file *f, const struct image_part *part,
                      int channels, struct image *img, struct strbuf *why)
{
    struct tiff_source s = {.file = f, .data = f->data, .len = f->len};
    int w, h, rc = tiff_open(f, &w, &h, why);
    TIFF *t;

    if (rc == 0)
        rc = tiff_start(&s, 8 * tiff_block_limit(w, h) + 16 * f->len, &t, why);
    if (rc < 0)
        return rc;
    rc = tiff_part(t, &s, part, channels, img, why);
    TIFFClose(t);
    return rc;
}

static int tiff_read(const struct decoder_file *f, const struct image_part *part,
                     struct image *img, struct strbuf *why)
{
    return tiff_bands(f, part, IMAGE_RGB, img, why);
}

static bool tiff_is_deep(const struct decoder_file *f)
{
    struct tiff_source s = {.file = f, .data = f->data, .len = f->len};
    struct strbuf unused = STRBUF_INIT;
    bool is = false;
    TIFF *t;

    if (tiff_start(&s, 16 * f->len + (1 << 16), &t, &unused) == 0) {
        is = tiff_deep_is(t);
        TIFFClose(t);
    }
    strbuf_release(&unused);
    return is;
}

static bool tiff_is_lossy(const struct decoder_file *f)
{
    struct tiff_source s = {.file = f, .data = f->data, .len = f->len};
    struct strbuf unused = STRBUF_INIT;
    uint16_t how = COMPRESSION_NONE;
    TIFF *t;

    if (tiff_start(&s, 16 * f->len + (1 << 16), &t, &unused) == 0) {
        (void)TIFFGetField(t, TIFFTAG_COMPRESSION, &how);
        TIFFClose(t);
    }
    strbuf_release(&unused);
    return how == COMPRESSION_JPEG || how == COMPRESSION_OJPEG;
}

/* Bytes: a block may be the whole image, in four planes, in addition to the pixels.
 * Samples of more than 8 bits take three floats per pixel, twice while a range is
 * searched for. */
static size_t tiff_memory(const struct decoder_file *f, int w, int h)
{
    (void)f;
    return (size_t)w * (size_t)h * 48;
}

/* Reads the orientation from a tag of the first directory (as in EXIF, which is a TIFF),
 * or from the XMP packet in a tag. */
static int tiff_orientation(const struct decoder_file *f)
{
    struct tiff_source s = {.file = f, .data = f->data, .len = f->len};
    struct strbuf unused = STRBUF_INIT;
    int found = exif_orientation(f->data, f->len);
    const uint8_t *packet;
    uint32_t len;
    TIFF *t;

    if (!found && tiff_start(&s, 16 * f->len + (1 << 16), &t, &unused) == 0) {
        if (TIFFGetField(t, TIFFTAG_XMLPACKET, &len, &packet) && packet)
            found = exif_orientation_xmp(packet, len);
        TIFFClose(t);
    }
    strbuf_release(&unused);
    return found;
}

const struct decoder decoder_tiff = {
    .name = "TIFF",
    .extension = {".tif", ".tiff"},
    .hides_memory = true,
    .is = tiff_is,
    .is_lossy = tiff_is_lossy,
    .is_deep = tiff_is_deep,
    .open = tiff_open,
    .orientation = tiff_orientation,
    .memory = tiff_memory,
    .read = tiff_read,
    .bands = tiff_bands,
};
