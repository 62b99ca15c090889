#include "dataset/loader_sample.h"

#include <string.h>

#include "dataset/label.h"

void loader_worker_init(struct loader_worker *w, const struct image_limits *limits)
{
    memset(w, 0, sizeof(*w));
    transformer_init(&w->transformer, limits);
}

void loader_worker_release(struct loader_worker *w)
{
    transformer_release(&w->transformer);
    dataset_bytes_release(&w->bytes);
    label_reader_release(&w->label);
    label_reader_release(&w->small);
    image_release(&w->fitted);
}

/*
 * Decodes the whole picture into the cache, if it may go there: a picture that could be
 * decoded at less than full size may not, since its pixels would depend on the cache.
 */
static bool loader_cache_fill(struct loader_worker *w, const struct loader_source *s,
                              int64_t sample, struct image *img)
{
    struct transformer *m = &w->transformer;
    struct strbuf unused = STRBUF_INIT;
    bool filled = false;
    int width, height;

    if (image_decoder_open(m->decoder, w->bytes.data, w->bytes.len, &width, &height,
                           &unused) == 0 &&
        !transform_may_shrink(s->transform, width, height) &&
        image_decoder_read(m->decoder, NULL, &m->image, &unused) == 0) {
        cache_put(s->cache, sample, &m->image, NULL);
        *img = m->image;
        filled = true;
    }
    strbuf_release(&unused); /* transform_file will say it again */
    return filled;
}

/* A label picture belongs to a picture of its size. */
static int loader_check_size(const struct loader_source *s, int64_t sample, int w, int h,
                             const struct label_reader *label, struct strbuf *why)
{
    struct strbuf name = STRBUF_INIT;

    if (label->w == w && label->h == h)
        return 0;
    dataset_describe_label(s->data, sample, &name);
    strbuf_addf(why, "it has %d x %d pixels, and its label '%s' has %d x %d", w, h,
                name.buf, label->w, label->h);
    strbuf_release(&name);
    return -1;
}

/*
 * What the cache keeps of a scene, in w->fitted and w->small: at a fixed size what fits
 * the input, which has the same pixels and is smaller; else all of it.
 */
static int loader_scene_fit(struct loader_worker *w, const struct loader_source *s,
                            struct strbuf *why)
{
    const struct transform *t = s->transform;
    struct transformer *m = &w->transformer;
    struct augment_key key = {0, 0, 0};
    struct transform fit;
    int width, height;

    if (image_decoder_open(m->decoder, w->bytes.data, w->bytes.len, &width, &height,
                           why) < 0)
        return -1;
    fit = transform_for_scenes(width, height);
    if (transform_scene_fits(t))
        transform_scene_fit(t, width, height, &fit.w, &fit.h);
    fit.kind = TRANSFORM_STRETCH;
    fit.filter = t->filter;
    fit.shrink_gap = t->shrink_gap;
    image_resize_room(&w->fitted, fit.w, fit.h);
    label_reader_room(&w->small, fit.w, fit.h);
    if (transform_file(m, &fit, &key, w->bytes.data, w->bytes.len, w->fitted.pixel, why) <
        0)
        return -1;
    transform_label(m, &fit, &key, w->label.pixel, w->label.w, w->label.h,
                    w->small.pixel);
    return 0;
}

/* A picture and its label picture. */
static int loader_scene(struct loader_worker *w, const struct loader_source *s,
                        const struct augment_key *key, uint8_t *pixel, uint8_t *mask,
                        struct strbuf *why)
{
    const struct transform *t = s->transform;
    struct transformer *m = &w->transformer;
    struct label_reader *label = &w->label;
    const uint8_t *cached;
    struct image img;

    if (s->cache && cache_get(s->cache, key->sample, &img, &cached)) {
        transform_label(m, t, key, cached, img.w, img.h, mask);
        return transform_image(m, t, key, &img, pixel, why);
    }
    if (dataset_label_picture(s->data, key->sample, &s->limits, &w->bytes, label, why) <
            0 ||
        dataset_read(s->data, key->sample, s->limits.max_bytes, &w->bytes, why) < 0)
        return -1;
    if (s->cache) {
        if (loader_scene_fit(w, s, why) < 0 ||
            loader_check_size(s, key->sample, m->w, m->h, label, why) < 0)
            return -1;
        cache_put(s->cache, key->sample, &w->fitted, w->small.pixel);
        transform_label(m, t, key, w->small.pixel, w->small.w, w->small.h, mask);
        return transform_image(m, t, key, &w->fitted, pixel, why);
    }
    if (transform_file(m, t, key, w->bytes.data, w->bytes.len, pixel, why) < 0 ||
        loader_check_size(s, key->sample, m->w, m->h, label, why) < 0)
        return -1;
    transform_label(m, t, key, label->pixel, label->w, label->h, mask);
    return 0;
}

int loader_sample(struct loader_worker *w, const struct loader_source *s, uint64_t epoch,
                  int64_t sample, uint8_t *pixel, uint8_t *mask, struct strbuf *why)
{
    struct augment_key key = {s->seed, epoch, sample};
    struct transformer *m = &w->transformer;
    const uint8_t *label;
    struct image img;

    if (mask)
        return loader_scene(w, s, &key, pixel, mask, why);
    if (s->cache && cache_get(s->cache, sample, &img, &label))
        return transform_image(m, s->transform, &key, &img, pixel, why);
    if (dataset_read(s->data, sample, s->limits.max_bytes, &w->bytes, why) < 0)
        return -1;
    if (s->cache && loader_cache_fill(w, s, sample, &img))
        return transform_image(m, s->transform, &key, &img, pixel, why);
    return transform_file(m, s->transform, &key, w->bytes.data, w->bytes.len, pixel, why);
}
