/* Detects the format and checks the limits; each format has its own file. */
#include <ctype.h>
#include <stdbool.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/failure.h"
#include "base/file.h"
#include "image/decoder.h"
#include "image/enhance.h"
#include "image/exif.h"
#include "image/gate.h"
#include "image/image.h"
#include "image/label.h"

/* Longest side in pixels: beyond, the tables of a resize need more memory than the
 * pixels. */
enum { DECODE_SIDE = 1 << 20 };

#define DECODER_POINTER(name) &decoder_##name,

static const struct decoder *const decoders[] = {DECODER_TABLE(DECODER_POINTER)};

enum { DECODERS = sizeof(decoders) / sizeof(decoders[0]) };

struct image_decoder {
    struct image_limits limits;
    const struct decoder *format; /* of the open image */
    struct decoder_file file;     /* the open image; data is NULL if none is open */
    int w, h;                     /* stored size */
    int orientation;              /* from EXIF; 1 unless limits.rotate */
    struct image stored;          /* before its orientation is applied */
    int channels;                 /* requested by image_decoder_channels */
    void *state[DECODERS];        /* per format */
    struct strbuf warning;        /* of the last image read */
    void *device;                 /* opened from limits.jpeg, or NULL */
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
    d->channels = IMAGE_RGB;
    for (int i = 0; i < DECODERS; i++)
        if (decoders[i]->state_new)
            d->state[i] = decoders[i]->state_new();
    if (d->limits.jpeg)
        d->device = d->limits.jpeg->open(d->limits.jpeg->device);
    return d;
}

void image_decoder_free(struct image_decoder *d)
{
    if (!d)
        return;
    for (int i = 0; i < DECODERS; i++)
        if (decoders[i]->state_free)
            decoders[i]->state_free(d->state[i]);
    if (d->device)
        d->limits.jpeg->close(d->device);
    image_release(&d->stored);
    strbuf_release(&d->warning);
    free(d);
}

/* Appends "no image of a known format" and the first bytes, which reveal a renamed text
 * file. */
static int decode_unknown(const uint8_t *p, size_t len, struct strbuf *why)
{
    size_t n = len < 16 ? len : 16;

    strbuf_addstr(why, "no image of a known format (");
    for (int i = 0; i < DECODERS; i++)
        strbuf_addf(why, "%s%s", i ? ", " : "", decoders[i]->name);
    strbuf_addstr(why, "): it starts with \"");
    for (size_t i = 0; i < n; i++) {
        if (isprint(p[i]) && p[i] != '"' && p[i] != '\\')
            strbuf_addch(why, (char)p[i]);
        else
            strbuf_addf(why, "\\x%02x", p[i]);
    }
    strbuf_addstr(why, "\"");
    return -1;
}

/* Returns the index of the format in `decoders`, or DECODERS if it is unknown. */
static int decode_row(const void *data, size_t len)
{
    int i = 0;

    while (i < DECODERS && !decoders[i]->is(data, len))
        i++;
    return i;
}

const struct decoder *decoder_find(const void *data, size_t len)
{
    int i = decode_row(data, len);

    return i < DECODERS ? decoders[i] : NULL;
}

const char *image_extension_of(const void *data, size_t len)
{
    const struct decoder *format = decoder_find(data, len);

    return format ? format->extension[0] : NULL;
}

bool image_is_lossy(const void *data, size_t len)
{
    const struct decoder *format = decoder_find(data, len);
    struct decoder_file f = {.data = data, .len = len};

    return format && (format->is_lossy ? format->is_lossy(&f) : format->lossy);
}

bool image_is_deep(const void *data, size_t len)
{
    const struct decoder *format = decoder_find(data, len);
    struct decoder_file f = {.data = data, .len = len};

    return format && format->is_deep && format->is_deep(&f);
}

/* Finds the format by extension; returns NULL if it is unknown. */
static const struct decoder *decoder_of_name(const char *path)
{
    const char *dot = path_extension(path);

    for (int i = 0; i < DECODERS; i++)
        for (const char *const *known = decoders[i]->extension; *known; known++)
            if (strcasecmp(dot, *known) == 0)
                return decoders[i];
    return NULL;
}

bool image_has_extension(const char *path)
{
    return decoder_of_name(path);
}

const char *label_lossy_format(const char *path)
{
    const struct decoder *format = decoder_of_name(path);

    return format && format->lossy ? format->name : NULL;
}

void image_add_extensions(struct strbuf *s)
{
    const char *separator = "";

    for (int i = 0; i < DECODERS; i++)
        for (const char *const *known = decoders[i]->extension; *known; known++) {
            strbuf_addf(s, "%s%s", separator, *known);
            separator = ", ";
        }
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

static int decode_orientation(const struct image_decoder *d)
{
    int found = 0;

    if (d->limits.rotate && d->format->orientation)
        found = d->format->orientation(&d->file);
    return found ? found : 1;
}

/* Reading a header takes at most a small multiple of the file's length (tiff.c). */
static size_t decode_header_memory(size_t len)
{
    return 16 * len + (1 << 16);
}

/* Some libraries report a lack of memory as damage: distinguishes them by testing whether
 * `bytes` can be allocated. */
static int decode_failure(const struct decoder *format, int rc, size_t bytes,
                          struct strbuf *why)
{
    return rc == FAILURE_DATA && format->hides_memory ? failure_of_memory(bytes, why)
                                                      : rc;
}

int image_decoder_open(struct image_decoder *d, const void *data, size_t len, int *w,
                       int *h, struct strbuf *why)
{
    int i, rc;

    d->file.data = NULL;
    if (len == 0) {
        strbuf_addstr(why, "the file is empty");
        return -1;
    }
    if ((uint64_t)len > (uint64_t)d->limits.max_bytes) {
        strbuf_addf(why, "%zu bytes, more than the limit of %lld", len,
                    (long long)d->limits.max_bytes);
        return -1;
    }
    i = decode_row(data, len);
    if (i == DECODERS)
        return decode_unknown(data, len, why);
    d->format = decoders[i];
    strbuf_reset(&d->warning);
    d->file = (struct decoder_file){
        data, len, d->state[i], d->limits.truncated, d->limits.range, &d->warning};
    rc = decode_failure(d->format, d->format->open(&d->file, &d->w, &d->h, why),
                        decode_header_memory(len), why);
    if (rc == 0)
        rc = decode_check_size(d, why);
    if (rc < 0) {
        d->file.data = NULL;
        return rc;
    }
    d->orientation = decode_orientation(d);
    *w = exif_swaps(d->orientation) ? d->h : d->w;
    *h = exif_swaps(d->orientation) ? d->w : d->h;
    return 0;
}

/* True if the device decodes this file. A JPEG without an end marker goes to libjpeg,
 * which reports that it is cut off. */
static bool decode_by_device(const struct image_decoder *d, const struct decoder_file *f)
{
    const uint8_t *end = (const uint8_t *)f->data + f->len;

    return d->device && d->format->device && f->len > 2 && end[-2] == 0xff &&
           end[-1] == 0xd9 && (d->channels == 1 || d->channels == IMAGE_RGB);
}

int image_decoder_shrinks(const struct image_decoder *d)
{
    return d->file.data && d->format->shrinks && d->orientation == 1 &&
           !decode_by_device(d, &d->file);
}

/* Decodes the whole image on the device; returns false if the host must decode it. */
static bool decode_device(const struct image_decoder *d, const struct decoder_file *f,
                          struct image *img)
{
    if (!decode_by_device(d, f))
        return false;
    image_resize_reserve(img, d->w, d->h);
    return d->limits.jpeg->read(d->device, f->data, f->len, d->w, d->h, img->pixel);
}

void image_decoder_channels(struct image_decoder *d, int channels)
{
    if (channels < 1 || channels > IMAGE_CHANNELS)
        BUG("images of %d channels", channels);
    d->channels = channels;
}

int decoder_other_channels(const char *what, int has, int wanted, struct strbuf *why)
{
    strbuf_addf(why, "it has %d %s%s, and MODEL.IN_CHANS is %d", has, what,
                has == 1 ? "" : "s", wanted);
    return FAILURE_DATA;
}

void decoder_warn(const struct decoder_file *f, const char *text)
{
    if (f->warning && !f->warning->len)
        strbuf_addstr(f->warning, text);
}

int decoder_cut(const struct decoder_file *f, struct strbuf *why)
{
    static const char text[] = "the file is cut off";

    if (!f->truncated) {
        strbuf_addstr(why, text);
        return FAILURE_DATA;
    }
    decoder_warn(f, text);
    return 0;
}

const char *image_decoder_warning(const struct image_decoder *d)
{
    return d->warning.len ? d->warning.buf : NULL;
}

void image_decoder_forget(struct image_decoder *d)
{
    strbuf_reset(&d->warning);
}

/* Converts RGB to gray in place. */
static void decode_gray(struct image *img)
{
    for (int y = 0; y < img->h; y++) {
        const uint8_t *rgb = img->pixel + (size_t)y * img->stride;
        uint8_t *gray = img->pixel + (size_t)y * (size_t)img->w;

        for (int x = 0; x < img->w; x++)
            gray[x] = (uint8_t)enhance_gray(rgb + IMAGE_RGB * (ptrdiff_t)x);
    }
    img->channels = 1;
    img->stride = (size_t)img->w;
}

static int decode_channels(const struct image_decoder *d, const struct decoder_file *file,
                           const struct image_part *part, struct image *img,
                           struct strbuf *why)
{
    bool bands = d->channels == 2 || d->channels > IMAGE_RGB;
    size_t memory = d->format->memory(file, d->w, d->h);
    int rc;

    if (bands && !d->format->bands) {
        strbuf_addf(
            why,
            "a %s is read as RGB, and MODEL.IN_CHANS is %d, which PNG and TIFF can have",
            d->format->name, d->channels);
        return FAILURE_DATA;
    }
    if (bands)
        memory += (size_t)d->w * (size_t)d->h * (size_t)d->channels * 3;
    if (image_gate_enter(file->len + memory, why) < 0)
        return FAILURE_DATA;
    if (bands)
        rc = d->format->bands(file, part, d->channels, img, why);
    else
        rc = decode_device(d, file, img) ? 0 : d->format->read(file, part, img, why);
    rc = decode_failure(d->format, rc, file->len + memory, why);
    if (rc == 0 && d->channels == 1)
        decode_gray(img);
    return rc;
}

int image_decoder_read(struct image_decoder *d, const struct image_part *part,
                       struct image *img, struct strbuf *why)
{
    struct image_part all = {0, 0, d->w, d->h, 1}, stored;
    struct decoder_file file = d->file;
    bool oriented = d->orientation != 1;
    int rc;

    if (!file.data)
        BUG("image_decoder_read without an open image");
    if (part && oriented) {
        stored = exif_stored(d->orientation, part, d->w, d->h);
        part = &stored;
    }
    if (!part)
        part = &all;
    if (part->x < 0 || part->y < 0 || part->w <= 0 || part->h <= 0 ||
        part->x > d->w - part->w || part->y > d->h - part->h)
        BUG("part %d,%d %dx%d outside an image of %dx%d", part->x, part->y, part->w,
            part->h, d->w, d->h);
    if (part->shrink != 1 && !d->format->shrinks)
        BUG("%s cannot be decoded at 1/%d", d->format->name, part->shrink);
    d->file.data = NULL;
    rc = decode_channels(d, &file, part, oriented ? &d->stored : img, why);
    if (rc == 0 && oriented)
        exif_apply(d->orientation, &d->stored, d->w, d->h, img);
    return rc;
}
