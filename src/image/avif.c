/*
 * The only user of libavif: AVIF images; of a sequence, the first. The library is opened
 * for the first such file; without it the program ends, because no image of an AVIF data
 * set could be read.
 *
 * Pixels become 8 bits per channel, alpha is dropped. The properties irot and imir store
 * rotation and mirroring, which other formats store in EXIF; they are returned as an EXIF
 * orientation. Reading a part always decodes the whole image.
 */
#include <avif/avif.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dynlib.h"
#include "base/error.h"
#include "base/failure.h"
#include "image/decoder.h"
#include "image/exif.h"

/* The layout of the library's structs depends on its version. */
#if AVIF_VERSION >= 1000000
#define AVIF_AXIS axis
static const char *const names[] = {"libavif.so.16", NULL};
static const char package[] = "libavif16";
#else
#define AVIF_AXIS mode
static const char *const names[] = {"libavif.so.15", NULL};
static const char package[] = "libavif15";
#endif

static struct avif_library {
    __typeof__(&avifDecoderCreate) create;
    __typeof__(&avifDecoderDestroy) destroy;
    __typeof__(&avifDecoderSetIOMemory) set_memory;
    __typeof__(&avifDecoderParse) parse;
    __typeof__(&avifDecoderNextImage) next_image;
    __typeof__(&avifRGBImageSetDefaults) rgb_defaults;
    __typeof__(&avifImageYUVToRGB) to_rgb;
    __typeof__(&avifResultToString) message;
} lib;

static void avif_library(void)
{
    static const struct dynlib_symbol symbols[] = {
        {"avifDecoderCreate", offsetof(struct avif_library, create)},
        {"avifDecoderDestroy", offsetof(struct avif_library, destroy)},
        {"avifDecoderSetIOMemory", offsetof(struct avif_library, set_memory)},
        {"avifDecoderParse", offsetof(struct avif_library, parse)},
        {"avifDecoderNextImage", offsetof(struct avif_library, next_image)},
        {"avifRGBImageSetDefaults", offsetof(struct avif_library, rgb_defaults)},
        {"avifImageYUVToRGB", offsetof(struct avif_library, to_rgb)},
        {"avifResultToString", offsetof(struct avif_library, message)},
        {0}};
    static struct dynlib row = {.names = names, .package = package, .symbols = symbols};

    dynlib_need(&row, &lib, "AVIF");
}

/* True if it starts with "ftyp" and one of the major or compatible brands is AVIF. */
static bool avif_is(const void *data, size_t len)
{
    const uint8_t *d = data;
    size_t box;

    if (len < 16 || memcmp(d + 4, "ftyp", 4) != 0)
        return false;
    box = (size_t)d[0] << 24 | (size_t)d[1] << 16 | (size_t)d[2] << 8 | d[3];
    for (size_t pos = 8; pos + 4 <= box && pos + 4 <= len; pos += 4)
        if (pos != 12 && (!memcmp(d + pos, "avif", 4) || !memcmp(d + pos, "avis", 4)))
            return true;
    return false;
}

struct avif_state {
    avifDecoder *decoder; /* NULL until first needed */
};

static void *avif_state_new(void)
{
    return xcalloc(1, sizeof(struct avif_state));
}

static void avif_state_free(void *state)
{
    struct avif_state *s = state;

    if (s->decoder)
        lib.destroy(s->decoder);
    free(s);
}

static int avif_fail(avifResult r, struct strbuf *why)
{
    if (r == AVIF_RESULT_TRUNCATED_DATA)
        strbuf_addstr(why, "the file is cut off");
    else
        strbuf_addf(why, "damaged: %s", lib.message(r));
    return r == AVIF_RESULT_OUT_OF_MEMORY ? FAILURE_MACHINE : FAILURE_DATA;
}

static int avif_open(const struct decoder_file *f, int *w, int *h, struct strbuf *why)
{
    struct avif_state *s = f->state;
    avifResult r;

    avif_library();
    if (!s->decoder)
        s->decoder = lib.create();
    if (!s->decoder)
        die("out of memory: no decoder of AVIF");
    s->decoder->maxThreads = 1;
    s->decoder->strictFlags = AVIF_STRICT_DISABLED; /* as lenient as Pillow */
    r = lib.set_memory(s->decoder, f->data, f->len);
    if (r == AVIF_RESULT_OK)
        r = lib.parse(s->decoder);
    if (r != AVIF_RESULT_OK)
        return avif_fail(r, why);
    *w = (int)s->decoder->image->width;
    *h = (int)s->decoder->image->height;
    return 0;
}

/* irot rotates counterclockwise in steps of 90 degrees; then imir exchanges top and
 * bottom (0) or left and right (1). */
static int avif_orientation(const struct decoder_file *f)
{
    const avifImage *image = ((struct avif_state *)f->state)->decoder->image;
    static const int orientation[4][3] = {{1, 4, 2}, {8, 5, 7}, {3, 2, 4}, {6, 7, 5}};
    int angle = image->transformFlags & AVIF_TRANSFORM_IROT ? image->irot.angle & 3 : 0;
    int mirror = 0;

    if (!(image->transformFlags & (AVIF_TRANSFORM_IROT | AVIF_TRANSFORM_IMIR)) &&
        !image->exif.size)
        return exif_orientation_xmp(image->xmp.data, image->xmp.size);
    if (image->transformFlags & AVIF_TRANSFORM_IMIR)
        mirror = 1 + (image->imir.AVIF_AXIS & 1);
    return orientation[angle][mirror];
}

static int avif_read(const struct decoder_file *f, const struct image_part *part,
                     struct image *img, struct strbuf *why)
{
    struct avif_state *s = f->state;
    avifResult r = lib.next_image(s->decoder);
    avifRGBImage rgb;

    (void)part;
    if (r != AVIF_RESULT_OK)
        return avif_fail(r, why);
    image_resize_reserve(img, (int)s->decoder->image->width,
                         (int)s->decoder->image->height);
    s->decoder->image->alphaPremultiplied = AVIF_TRUE; /* prevents blending */
    lib.rgb_defaults(&rgb, s->decoder->image);
    rgb.format = AVIF_RGB_FORMAT_RGB;
    rgb.depth = 8;
    rgb.pixels = img->pixel;
    rgb.rowBytes = (uint32_t)img->stride;
    r = lib.to_rgb(s->decoder->image, &rgb);
    return r == AVIF_RESULT_OK ? 0 : avif_fail(r, why);
}

/* Lossless AVIF is rare and hard to detect. */
static bool avif_is_lossy(const struct decoder_file *f)
{
    (void)f;
    return true;
}

/* Planes of up to 16 bits, and dav1d's copies of a frame. */
static size_t avif_memory(const struct decoder_file *f, int w, int h)
{
    (void)f;
    return (size_t)w * (size_t)h * 16;
}

const struct decoder decoder_avif = {
    .name = "AVIF",
    .extension = {".avif"},
    .hides_memory = true,
    .is = avif_is,
    .is_lossy = avif_is_lossy,
    .state_new = avif_state_new,
    .state_free = avif_state_free,
    .open = avif_open,
    .orientation = avif_orientation,
    .memory = avif_memory,
    .read = avif_read,
};
