#include "dataset/array_images.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/error.h"
#include "dataset/class_names.h"
#include "dataset/class_set.h"
#include "dataset/read.h"

enum { HEAD = 32 }; /* bytes of a PNM header, at most */

static const struct array_images *to_array_images(const struct dataset *d)
{
    return (const struct array_images *)d;
}

static int32_t array_label(const struct dataset *d, int64_t i)
{
    return to_array_images(d)->image[i].label;
}

static int array_read(const struct dataset *d, int64_t i, int64_t limit,
                      struct dataset_bytes *out, struct strbuf *why)
{
    const struct array_images *a = to_array_images(d);
    const uint8_t *src = a->image[i].pixels;
    size_t plane = (size_t)a->w * (size_t)a->h, channels = (size_t)a->channels;
    size_t len = plane * channels;
    uint8_t *dst;
    int head;

    if ((int64_t)(len + HEAD) > limit) {
        strbuf_addf(why, "%zu bytes, more than DATA.MAX_BYTES", len + HEAD);
        return -1;
    }
    dataset_bytes_reserve(out, len + HEAD);
    head = snprintf((char *)out->data, HEAD, "P%d %d %d 255\n", channels == 1 ? 5 : 6,
                    a->w, a->h);
    dst = out->data + head;
    for (size_t p = 0; p < plane; p++)
        for (size_t c = 0; c < channels; c++)
            *dst++ = src[c * plane + p];
    out->len = (size_t)head + len;
    return 0;
}

static void array_describe(const struct dataset *d, int64_t i, struct strbuf *name)
{
    const struct array_image *m = &to_array_images(d)->image[i];

    strbuf_addf(name, "%s:%d", to_array_images(d)->file[m->file].path, m->number);
}

static bool array_stamp(const struct dataset *d, int64_t i, struct strbuf *out)
{
    const struct array_image *m = &to_array_images(d)->image[i];

    strbuf_addf(out, "%d ", m->number);
    return dataset_stamp_file(AT_FDCWD, to_array_images(d)->file[m->file].path, out);
}

static void array_close(struct dataset *d)
{
    struct array_images *a = (struct array_images *)d;

    class_names_free(d);
    for (size_t k = 0; k < a->files; k++) {
        free(a->file[k].path);
        free(a->file[k].memory);
    }
    free(a->file);
    free(a->image);
    free(d->name);
    free(a);
}

static const struct dataset_type array_type = {
    .label = array_label,
    .read = array_read,
    .describe = array_describe,
    .stamp = array_stamp,
    .close = array_close,
};

struct array_images *array_images_new(const char *name, int w, int h, int channels)
{
    struct array_images *a = xcalloc(1, sizeof(*a));

    a->base.type = &array_type;
    a->base.name = xstrdup(name);
    a->w = w;
    a->h = h;
    a->channels = channels;
    return a;
}

int array_images_add_file(struct array_images *a, const char *path, void *memory)
{
    GROW(a->file, a->files, a->file_cap);
    a->file[a->files] = (struct array_file){.path = xstrdup(path), .memory = memory};
    return (int)a->files++;
}

void array_images_add(struct array_images *a, int file, const uint8_t *pixels,
                      int32_t label)
{
    GROW(a->image, a->base.n, a->cap);
    a->image[a->base.n++] =
        (struct array_image){pixels, label, file, a->file[file].images++};
}

void array_images_check_labels(const struct array_images *a)
{
    for (int64_t i = 0; i < a->base.n; i++)
        if (a->image[i].label < 0 || a->image[i].label >= a->base.nclass)
            die("%s:%d: class index %d is out of range: the data set has %d classes "
                "(0 to %d)",
                a->file[a->image[i].file].path, a->image[i].number, a->image[i].label,
                a->base.nclass, a->base.nclass - 1);
}

enum array_split array_images_split(const struct dataset_source *s)
{
    static const char *const test[] = {"val",     "valid", "validation",
                                       "testing", "test",  "t10k"};

    if (!s->split || !*s->split || !strcasecmp(s->split, "train") ||
        !strcasecmp(s->split, "training"))
        return ARRAY_TRAIN;
    for (size_t i = 0; i < sizeof(test) / sizeof(*test); i++)
        if (!strcasecmp(s->split, test[i]))
            return ARRAY_TEST;
    return ARRAY_UNKNOWN;
}
