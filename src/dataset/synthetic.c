/*
 * DATA.DATASET synthetic: noise around a colour of each class, as PPM files that exist
 * only while they are read. All the same goes through the loader as for real pictures.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/philox.h"
#include "dataset/dataset.h"

enum { COLOURS = 128, NOISE = 128 };

struct synthetic {
    struct dataset base;
    uint32_t split;
    int size;
};

static int32_t synthetic_label(const struct dataset *d, int64_t i)
{
    return (int32_t)(i % d->nclass);
}

/* Around the colour of the class, 16 bytes of noise from each random number. */
static void synthetic_draw(const struct synthetic *s, int64_t i, uint8_t *rgb, size_t n)
{
    struct philox colour =
        philox(0, PHILOX_SYNTH, (uint64_t)synthetic_label(&s->base, i), 0);
    struct philox noise = {{0}};

    for (size_t k = 0; k < n; k++) {
        if (k % 16 == 0)
            noise = philox(1 + s->split, PHILOX_SYNTH, (uint64_t)i, k / 16);
        rgb[k] = (uint8_t)((int)philox_below(colour.v[k % 3], COLOURS) +
                           (int)(noise.v[k % 16 / 4] >> 8 * (k % 4) & (NOISE - 1)));
    }
}

static int synthetic_read(const struct dataset *d, int64_t i, int64_t limit,
                          struct dataset_bytes *out, struct strbuf *why)
{
    const struct synthetic *s = (const struct synthetic *)d;
    size_t pixels = (size_t)s->size * (size_t)s->size * 3, room = pixels + 32;
    int head;

    if ((int64_t)room > limit) {
        strbuf_addf(why, "%zu bytes, more than DATA.MAX_BYTES", room);
        return -1;
    }
    if (room > out->cap) {
        free(out->data);
        out->data = xmalloc(room);
        out->cap = room;
    }
    head = snprintf((char *)out->data, 32, "P6 %d %d 255\n", s->size, s->size);
    synthetic_draw(s, i, out->data + head, pixels);
    out->len = (size_t)head + pixels;
    return 0;
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

static const struct dataset_type synthetic_type = {
    .name = "synthetic",
    .label = synthetic_label,
    .read = synthetic_read,
    .describe = synthetic_describe,
    .close = synthetic_close,
};

struct dataset *synthetic_open(const struct synthetic_options *o)
{
    struct synthetic *s = xcalloc(1, sizeof(*s));
    struct dataset *d = &s->base;

    d->type = &synthetic_type;
    d->name = xasprintf("synthetic %s", o->name);
    d->n = o->samples;
    d->nclass = o->classes;
    d->class_name = xcalloc((size_t)o->classes, sizeof(*d->class_name));
    for (int i = 0; i < o->classes; i++)
        d->class_name[i] = xasprintf("class%06d", i);
    s->split = o->split;
    s->size = o->size;
    return d;
}
