#include "pack/encode.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/failure.h"
#include "dataset/class_set.h"
#include "dataset/read.h"
#include "image/encode.h"

void pack_encoder_init(struct pack_encoder *e, const struct image_limits *limits)
{
    memset(e, 0, sizeof(*e));
    transformer_init(&e->transformer, limits);
}

void pack_encoder_release(struct pack_encoder *e)
{
    transformer_release(&e->transformer);
    label_reader_release(&e->label);
}

void pack_item_release(struct pack_item *item)
{
    dataset_bytes_release(&item->image);
    dataset_bytes_release(&item->label_map);
    free(item->fault);
    item->fault = NULL;
}

/* If the shorter side exceeds `size`, sets it to `size` and scales the other; otherwise
 * returns false. */
static bool fit(int size, int *w, int *h)
{
    int side = *w < *h ? *w : *h, other = *w < *h ? *h : *w;
    int64_t fitted = (int64_t)size * other / side;

    if (size == 0 || side <= size)
        return false;
    *(*w < *h ? w : h) = size;
    *(*w < *h ? h : w) = (int)fitted;
    return true;
}

static void adopt(struct dataset_bytes *b, uint8_t *data, size_t len)
{
    dataset_bytes_release(b);
    *b = (struct dataset_bytes){data, len, len};
}

/* Sets b to a PPM or PGM header (`kind` P6 or P5) with room for n bytes of pixels;
 * returns where those go. */
static uint8_t *portable(struct dataset_bytes *b, const char *kind, int w, int h,
                         size_t n)
{
    char head[40];
    size_t len = (size_t)snprintf(head, sizeof(head), "%s %d %d 255\n", kind, w, h);
    uint8_t *data = xmalloc(len + n);

    memcpy(data, head, len);
    adopt(b, data, len + n);
    return data + len;
}

static void encode_image(const struct pack_encoding *how, struct pack_item *item,
                         const uint8_t *rgb, int w, int h)
{
    bool jpeg = how->quality > 0 || image_is_lossy(item->image.data, item->image.len);
    struct png_bitmap png = {.pixel = rgb, .w = w, .h = h, .channels = 3};
    size_t len, n = (size_t)w * (size_t)h * 3;
    uint8_t *data;

    item->sample.ending = how->decode ? ".ppm" : jpeg ? ".jpg" : ".png";
    if (how->decode) {
        memcpy(portable(&item->image, "P6", w, h, n), rgb, n);
        return;
    }
    data = jpeg ? jpeg_encode(rgb, w, h, how->quality ? how->quality : PACK_QUALITY, &len)
                : png_encode(&png, &len);
    adopt(&item->image, data, len);
}

static void encode_label_map(const struct pack_encoding *how, struct pack_item *item,
                             const uint8_t *value, int w, int h)
{
    struct png_bitmap png = {.pixel = value, .w = w, .h = h, .channels = 1};
    size_t len, n = (size_t)w * (size_t)h;
    uint8_t *data;

    item->sample.label_map_ending = how->decode ? ".pgm" : ".png";
    if (how->decode) {
        memcpy(portable(&item->label_map, "P5", w, h, n), value, n);
        return;
    }
    data = png_encode(&png, &len);
    adopt(&item->label_map, data, len);
}

/* Decodes, resizes, and encodes the bytes read, if that changes them. Returns a failure
 * of base/failure.h with a reason on errors. */
static int encode_anew(struct pack_encoder *e, const struct pack_encoding *how,
                       struct pack_item *item, struct strbuf *why)
{
    struct transformer *m = &e->transformer;
    struct augment_key key = {0, 0, 0};
    struct transform t;
    uint8_t *rgb, *small;
    int w, h, rc;

    rc = image_decoder_open(m->decoder, item->image.data, item->image.len, &w, &h, why);
    if (rc == 0 && item->label_map.len)
        rc = label_read(&e->label, item->label_map.data, item->label_map.len,
                        &how->limits, why);
    if (rc < 0)
        return rc;
    if (item->label_map.len && (e->label.w != w || e->label.h != h)) {
        strbuf_addf(why, "it has %d x %d pixels, and its label map %d x %d", w, h,
                    e->label.w, e->label.h);
        return FAILURE_DATA;
    }
    if (!fit(how->size, &w, &h) && !how->quality && !how->decode && !how->limits.rotate)
        return 0;
    t = transform_for_segmentation(w, h);
    t.kind = TRANSFORM_STRETCH;
    t.filter = how->filter;
    t.shrink_gap = 0;
    rgb = xmalloc((size_t)w * (size_t)h * 4);
    small = rgb + (size_t)w * (size_t)h * 3;
    rc = transform_file(m, &t, &key, item->image.data, item->image.len, rgb, why);
    if (rc == 0)
        encode_image(how, item, rgb, w, h);
    if (rc == 0 && item->label_map.len) {
        transform_label(m, &t, &key, e->label.pixel, e->label.w, e->label.h, small);
        encode_label_map(how, item, small, w, h);
    }
    free(rgb);
    return rc;
}

/* Converts colored label maps to PNGs of class indices. */
static int index_colors(struct pack_encoder *e, const struct pack_encoding *how,
                        const struct dataset *d, struct pack_item *item,
                        struct strbuf *why)
{
    const struct label_colors *colors = d->set ? d->set->colors : NULL;
    struct png_bitmap png = {.channels = 1};
    uint8_t *data;
    size_t len;
    int rc;

    if (!colors)
        return 0;
    rc = label_read_colors(&e->label, colors, item->label_map.data, item->label_map.len,
                           &how->limits, why);
    if (rc < 0)
        return rc;
    png.pixel = e->label.pixel;
    png.w = e->label.w;
    png.h = e->label.h;
    data = png_encode(&png, &len);
    adopt(&item->label_map, data, len);
    return 0;
}

static int read_item(struct pack_encoder *e, const struct pack_encoding *how,
                     const struct dataset *d, int64_t i, struct pack_item *item,
                     struct strbuf *why)
{
    int64_t limit = image_limits_or_default(&how->limits).max_bytes;
    const char *ending;
    int rc = dataset_read(d, i, limit, &item->image, why);

    if (rc == 0 && dataset_has_labels(d))
        rc = dataset_read_label(d, i, limit, &item->label_map, why);
    if (rc == 0 && dataset_has_labels(d))
        rc = index_colors(e, how, d, item, why);
    if (rc < 0)
        return rc;
    ending = image_extension_of(item->image.data, item->image.len);
    if (!ending) {
        strbuf_addstr(why, "no image of a known format");
        return FAILURE_DATA;
    }
    item->sample.ending = ending;
    if (item->label_map.len) {
        ending = image_extension_of(item->label_map.data, item->label_map.len);
        item->sample.label_map_ending =
            ending && !strcmp(ending, ".ppm") ? ".pgm" : ".png";
    }
    if (how->size || how->quality || how->decode)
        return encode_anew(e, how, item, why);
    return 0;
}

void pack_encode(struct pack_encoder *e, const struct pack_encoding *how,
                 const struct dataset *d, int64_t i, struct pack_item *item)
{
    struct dataset_retry again = {.pause = DATASET_RETRY_PAUSE};
    struct strbuf why = STRBUF_INIT;
    struct pack_sample *s = &item->sample;
    int rc;

    do {
        strbuf_reset(&why);
        *s = (struct pack_sample){.number = i, .label = -1};
        item->image.len = item->label_map.len = 0;
        rc = read_item(e, how, d, i, item, &why);
    } while (dataset_try_again(&again, rc));
    item->machine = rc == FAILURE_MACHINE;
    if (rc < 0) {
        item->fault = strbuf_detach(&why);
        return;
    }
    s->image = item->image.data;
    s->len = item->image.len;
    if (dataset_has_labels(d)) {
        s->label_map = item->label_map.data;
        s->label_map_len = item->label_map.len;
    } else {
        s->label = dataset_label(d, i);
        s->class_name = d->class_name[s->label];
    }
    strbuf_release(&why);
}
