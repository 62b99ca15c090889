#include "dataset/loader_sample.h"

#include <string.h>

void loader_worker_init(struct loader_worker *w, const struct image_limits *limits)
{
    memset(w, 0, sizeof(*w));
    transformer_init(&w->transformer, limits);
}

void loader_worker_release(struct loader_worker *w)
{
    transformer_release(&w->transformer);
    dataset_bytes_release(&w->bytes);
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
        cache_put(s->cache, sample, &m->image);
        *img = m->image;
        filled = true;
    }
    strbuf_release(&unused); /* transform_file will say it again */
    return filled;
}

int loader_sample(struct loader_worker *w, const struct loader_source *s, uint64_t epoch,
                  int64_t sample, uint8_t *pixel, struct strbuf *why)
{
    struct augment_key key = {s->seed, epoch, sample};
    struct transformer *m = &w->transformer;
    struct image img;

    if (s->cache && cache_get(s->cache, sample, &img))
        return transform_image(m, s->transform, &key, &img, pixel, why);
    if (dataset_read(s->data, sample, s->limits.max_bytes, &w->bytes, why) < 0)
        return -1;
    if (s->cache && loader_cache_fill(w, s, sample, &img))
        return transform_image(m, s->transform, &key, &img, pixel, why);
    return transform_file(m, s->transform, &key, w->bytes.data, w->bytes.len, pixel, why);
}
