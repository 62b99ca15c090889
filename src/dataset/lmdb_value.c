#include "dataset/lmdb_value.h"

#include <stdio.h>
#include <string.h>

#include "base/failure.h"
#include "dataset/datum.pb-c.h"
#include "dataset/pairs.h"
#include "dataset/unpack_memory.h"
#include "image/image.h"

/* Returns NULL if the value is not a datum with an image, or if memory ran out, which `m`
 * records. */
static Trainc__Datum *datum_of(const void *data, size_t len, struct unpack_memory *m)
{
    Trainc__Datum *d;
    uint64_t pixels;
    bool good;

    d = trainc__datum__unpack(&m->allocator, len, data);
    if (!d)
        return NULL;
    pixels = d->width > 0 && d->height > 0 && (d->channels == 1 || d->channels == 3)
                 ? (uint64_t)d->width * (uint64_t)d->height * (uint64_t)d->channels
                 : 0;
    good = d->encoded ? image_extension_of(d->data.data, d->data.len) != NULL
                      : pixels > 0 && d->data.len == pixels;
    if (good)
        return d;
    trainc__datum__free_unpacked(d, NULL);
    return NULL;
}

enum lmdb_form lmdb_value_form(const void *data, size_t len, int32_t *label)
{
    bool failed;
    struct unpack_memory m = unpack_memory(&failed);
    Trainc__Datum *d;

    *label = -1;
    if (image_extension_of(data, len))
        return LMDB_IMAGE;
    d = datum_of(data, len, &m);
    if (!d)
        return LMDB_UNKNOWN;
    *label = d->label >= 0 ? d->label : -1;
    trainc__datum__free_unpacked(d, NULL);
    return LMDB_DATUM;
}

/* Writes a PPM or PGM file. Neither header exceeds 40 bytes. */
static void write_pixels(const Trainc__Datum *d, struct dataset_bytes *out)
{
    size_t n = (size_t)d->width * (size_t)d->height, channels = (size_t)d->channels;
    uint8_t *dst;
    int head;

    dataset_bytes_reserve(out, d->data.len + 40);
    head = snprintf((char *)out->data, 40, "P%d %d %d 255\n", channels == 3 ? 6 : 5,
                    d->width, d->height);
    out->len = (size_t)head + d->data.len;
    dst = out->data + head;
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < channels; c++)
            dst[i * channels + c] = d->data.data[(channels - 1 - c) * n + i];
}

int lmdb_value_image(const void *data, size_t len, int64_t limit,
                     struct dataset_bytes *out, struct strbuf *why)
{
    bool failed;
    struct unpack_memory m = unpack_memory(&failed);
    Trainc__Datum *d = datum_of(data, len, &m);
    int rc = 0;

    if (!d)
        return unpack_failure(&m, "it is not a caffe.Datum with an image", why);
    if (d->data.len + 40 > (uint64_t)limit) {
        strbuf_addf(why, "%zu bytes, more than the limit of %lld", d->data.len,
                    (long long)limit);
        rc = FAILURE_DATA;
    } else if (d->encoded) {
        dataset_bytes_reserve(out, d->data.len);
        out->len = d->data.len;
        memcpy(out->data, d->data.data, d->data.len);
    } else {
        write_pixels(d, out);
    }
    trainc__datum__free_unpacked(d, NULL);
    return rc;
}

void lmdb_value_describe(const void *data, size_t len, struct strbuf *why)
{
    const uint8_t *p = data;
    bool pickle = len > 2 && p[0] == 0x80 && p[1] >= 2 && p[1] <= 5 && p[len - 1] == '.';

    strbuf_addstr(why,
                  "it has no key 'num-samples', and its values are neither images nor "
                  "Caffe's Datum");
    if (pickle)
        strbuf_addstr(
            why, " but Python objects (pickle): store the encoded image files instead");
}
