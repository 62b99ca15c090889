/*
 * DATA.DATASET synthetic: noise around a color of the class (sample index modulo the
 * number of classes) or, with label maps, fields of all classes. The loader gets the bytes
 * of image files: PPM, TIFF if a pixel has another number of channels than gray or RGB,
 * and PNG for label maps. Sample i is a function of the split's number, the size, and i.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/philox.h"
#include "dataset/class_set.h"
#include "dataset/table.h"
#include "image/encode.h"
#include "image/image.h"

enum { COLORS = 128, NOISE = 128 };
enum { HEAD = 256 }; /* maximum size of an image's header */

struct synthetic {
    struct dataset base;
    uint32_t split;
    int w, h, channels;
    bool labels;
};

enum { FIELDS = 4 }; /* of a label map, per dimension */

static int32_t synthetic_label(const struct dataset *d, int64_t i)
{
    return (int32_t)(i % d->nclass);
}

static int32_t synthetic_no_label(const struct dataset *d, int64_t i)
{
    (void)d;
    (void)i;
    return 0;
}

/* Returns the class of pixel p of sample i. */
static int synthetic_class(const struct synthetic *s, int64_t i, size_t p)
{
    int x = (int)(p % (size_t)s->w), y = (int)(p / (size_t)s->w);

    if (!s->labels)
        return synthetic_label(&s->base, i);
    return (int)((i + x * FIELDS / s->w + 3 * (y * FIELDS / s->h)) % s->base.nclass);
}

/* Draws noise around the color of the class, 16 bytes per random number. */
static void synthetic_draw(const struct synthetic *s, int64_t i, uint8_t *out, size_t n)
{
    size_t channels = (size_t)s->channels;
    struct philox color = {{0}}, noise = {{0}};
    int class = -1;

    for (size_t k = 0; k < n; k++) {
        int now = k % channels == 0 && (k == 0 || s->labels)
                      ? synthetic_class(s, i, k / channels)
                      : class;

        if (now != class)
            color = philox(0, PHILOX_SYNTH, (uint64_t)now, 0);
        class = now;
        if (k % 16 == 0)
            noise = philox(1 + s->split, PHILOX_SYNTH, (uint64_t)i, k / 16);
        out[k] = (uint8_t)((int)philox_below(color.v[k % channels % 4], COLORS) +
                           (int)(noise.v[k % 16 / 4] >> 8 * (k % 4) & (NOISE - 1)));
    }
}

static uint8_t *put16(uint8_t *p, uint32_t value)
{
    p[0] = (uint8_t)value;
    p[1] = (uint8_t)(value >> 8);
    return p + 2;
}

static uint8_t *put32(uint8_t *p, uint32_t value)
{
    return put16(put16(p, value), value >> 16);
}

/*
 * Writes the header and the one directory of a TIFF (TIFF 6.0, section 2; little-endian)
 * whose pixels follow in one strip. Returns the length; `head` has HEAD bytes.
 */
static size_t synthetic_tiff_head(const struct synthetic *s, uint8_t *head)
{
    enum { SHORT = 3, LONG = 4, ENTRIES = 8, BITS = 8 + 2 + ENTRIES * 12 + 4 };
    uint32_t w = (uint32_t)s->w, h = (uint32_t)s->h, c = (uint32_t)s->channels;
    uint32_t len = BITS + 2 * IMAGE_CHANNELS;
    const struct {
        uint16_t tag, type;
        uint32_t count, value;
    } entry[ENTRIES] = {
        {256, LONG, 1, w},                           /* ImageWidth */
        {257, LONG, 1, h},                           /* ImageLength */
        {258, SHORT, c, c > 2 ? BITS : 8 << 16 | 8}, /* BitsPerSample, or its offset */
        {262, SHORT, 1, 1},        /* PhotometricInterpretation: black is zero */
        {273, LONG, 1, len},       /* StripOffsets */
        {277, SHORT, 1, c},        /* SamplesPerPixel */
        {278, LONG, 1, h},         /* RowsPerStrip */
        {279, LONG, 1, w * h * c}, /* StripByteCounts */
    };
    uint8_t *p = head;

    memset(head, 0, len);
    memcpy(p, "II*", 4);
    p = put16(put32(p + 4, 8), ENTRIES);
    for (int i = 0; i < ENTRIES; i++) {
        p = put16(put16(p, entry[i].tag), entry[i].type);
        p = put32(put32(p, entry[i].count), entry[i].value);
    }
    for (int i = 0; i < s->channels; i++)
        put16(head + BITS + 2 * i, 8);
    return len;
}

static int synthetic_reserve(size_t room, int64_t limit, struct dataset_bytes *out,
                             struct strbuf *why)
{
    if ((int64_t)room > limit) {
        strbuf_addf(why, "%zu bytes, more than DATA.MAX_BYTES", room);
        return -1;
    }
    dataset_bytes_reserve(out, room);
    return 0;
}

static int synthetic_read(const struct dataset *d, int64_t i, int64_t limit,
                          struct dataset_bytes *out, struct strbuf *why)
{
    const struct synthetic *s = (const struct synthetic *)d;
    size_t pixels = (size_t)s->w * (size_t)s->h * (size_t)s->channels, head;
    size_t room = pixels + (s->channels == IMAGE_RGB ? 32 : HEAD);

    if (synthetic_reserve(room, limit, out, why) < 0)
        return -1;
    head = s->channels == IMAGE_RGB
               ? (size_t)snprintf((char *)out->data, 32, "P6 %d %d 255\n", s->w, s->h)
               : synthetic_tiff_head(s, out->data);
    synthetic_draw(s, i, out->data + head, pixels);
    out->len = head + pixels;
    return 0;
}

static int synthetic_read_label(const struct dataset *d, int64_t i, int64_t limit,
                                struct dataset_bytes *out, struct strbuf *why)
{
    const struct synthetic *s = (const struct synthetic *)d;
    size_t n = (size_t)s->w * (size_t)s->h, len;
    uint8_t *value = xmalloc(n);
    unsigned char *png;
    int rc;

    for (size_t p = 0; p < n; p++)
        value[p] = (uint8_t)synthetic_class(s, i, p);
    png = png_encode(
        &(struct png_bitmap){.pixel = value, .w = s->w, .h = s->h, .channels = 1}, &len);
    rc = synthetic_reserve(len, limit, out, why);
    if (rc == 0)
        memcpy(out->data, png, len);
    out->len = len;
    free(value);
    free(png);
    return rc;
}

static void synthetic_describe(const struct dataset *d, int64_t i, struct strbuf *name)
{
    strbuf_addf(name, "%s %lld", d->name, (long long)i);
}

static void synthetic_close(struct dataset *d)
{
    for (int i = 0; i < d->nclass; i++)
        free(d->class_name[i]);
    free(d->class_name);
    free(d->name);
    free(d);
}

static const struct dataset_type synthetic_classes = {
    .label = synthetic_label,
    .read = synthetic_read,
    .describe = synthetic_describe,
    .close = synthetic_close,
};

static const struct dataset_type synthetic_label_maps = {
    .label = synthetic_no_label,
    .read = synthetic_read,
    .describe = synthetic_describe,
    .close = synthetic_close,
    .read_label = synthetic_read_label,
    .describe_label = synthetic_describe,
};

static struct dataset *synthetic_open(const struct dataset_source *o)
{
    struct synthetic *s = xcalloc(1, sizeof(*s));
    struct dataset *d = &s->base;

    d->type = o->label_maps ? &synthetic_label_maps : &synthetic_classes;
    d->name = xasprintf("synthetic %s", o->split);
    d->n = o->samples;
    d->nclass = o->labels.classes;
    d->class_name = xcalloc((size_t)d->nclass, sizeof(*d->class_name));
    for (int i = 0; i < d->nclass; i++)
        d->class_name[i] = xasprintf("class%06d", i);
    s->split = o->number;
    s->w = o->width;
    s->h = o->height;
    s->channels = o->channels > 1 ? o->channels : IMAGE_RGB; /* gray is converted from
                                                              * RGB */
    s->labels = o->label_maps;
    class_set_map(NULL, d->nclass, false, d->map);
    return d;
}

static const char *const synthetic_reads[] = {"DATA.TRAIN_NUM_SAMPLES",
                                              "DATA.VAL_NUM_SAMPLES", NULL};

const struct storage storage_synthetic = {
    .name = "synthetic",
    .help = "no files: generated color noise for smoke tests; for segmentation, colored "
            "areas with label maps",
    .labels = STORAGE_EITHER,
    .generated = true,
    .reads = synthetic_reads,
    .open = synthetic_open,
};
