#include "dataset/loader_sample.h"

#include <string.h>

#include "base/failure.h"
#include "dataset/label.h"
#include "dataset/mosaic.h"
#include "dataset/read.h"
#include "image/gate.h"

/* One in MEASURED samples is timed and stands for all: a small image takes a microsecond,
 * and reading the clock four times a tenth of that. */
enum { MEASURED = 8 };

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
    dataset_bytes_release(&w->quarters);
}

/*
 * Decodes the image and caches it if there is room. A JPEG is decoded at the scale of its
 * smallest crop whether it is cached or not, so that pixels do not depend on the room in
 * the cache.
 */
static int loader_cache_fill(struct loader_worker *w, const struct loader_source *s,
                             int64_t sample, struct image *img, struct strbuf *why)
{
    struct transformer *m = &w->transformer;
    struct image_part part = {.shrink = 1};
    int rc;

    image_decoder_channels(m->decoder, transform_channels(s->transform));
    rc = image_decoder_open(m->decoder, w->bytes.data, w->bytes.len, &part.w, &part.h,
                            why);
    if (rc < 0)
        return rc;
    if (image_decoder_shrinks(m->decoder))
        part.shrink = transform_min_shrink(s->transform, part.w, part.h);
    rc = image_decoder_read(m->decoder, &part, &m->image, why);
    if (rc == 0)
        cache_put(s->cache, sample, &m->image, NULL);
    *img = m->image;
    return rc;
}

/* Caches the result of a fixed transform, which is smaller than the image. */
static void loader_cache_result(const struct loader_source *s, int64_t sample,
                                uint8_t *pixel)
{
    const struct transform *t = s->transform;
    struct image img = {
        .w = t->w, .h = t->h, .channels = transform_channels(t), .pixel = pixel};

    img.stride = (size_t)img.w * (size_t)img.channels;
    cache_put(s->cache, sample, &img, NULL);
}

/* Returns -1 and a reason if the label map's size differs from the image's. */
static int loader_check_size(const struct loader_source *s, int64_t sample, int w, int h,
                             const struct label_reader *label, struct strbuf *why)
{
    struct strbuf name = STRBUF_INIT;

    if (label->w == w && label->h == h)
        return 0;
    dataset_describe_label(s->data, sample, &name);
    strbuf_addf(why, "it has %d x %d pixels, but its label map '%s' has %d x %d", w, h,
                name.buf, label->w, label->h);
    strbuf_release(&name);
    return -1;
}

/*
 * Prepares what the cache stores of a segmentation sample, in w->fitted and w->small:
 * with a fixed size the part that fits the input, which gives the same pixels and is
 * smaller; otherwise everything.
 */
static int loader_segment_fit(struct loader_worker *w, const struct loader_source *s,
                              struct strbuf *why)
{
    const struct transform *t = s->transform;
    struct transformer *m = &w->transformer;
    struct augment_key key = {0, 0, 0};
    struct transform fit;
    int width, height, rc;

    rc =
        image_decoder_open(m->decoder, w->bytes.data, w->bytes.len, &width, &height, why);
    if (rc < 0)
        return rc;
    fit = transform_for_segmentation(width, height);
    if (transform_segment_fits(t))
        transform_segment_fit(t, width, height, &fit.w, &fit.h);
    fit.kind = TRANSFORM_STRETCH;
    fit.channels = t->channels;
    fit.filter = t->filter;
    fit.shrink_gap = t->shrink_gap;
    image_reserve(&w->fitted, fit.w, fit.h, transform_channels(t));
    label_reader_reserve(&w->small, fit.w, fit.h);
    rc = transform_file(m, &fit, &key, w->bytes.data, w->bytes.len, w->fitted.pixel, why);
    if (rc < 0)
        return rc;
    transform_label(m, &fit, &key, w->label.pixel, w->label.w, w->label.h,
                    w->small.pixel);
    return 0;
}

/* Loads an image and its label map. */
static int loader_segment(struct loader_worker *w, const struct loader_source *s,
                          const struct augment_key *key, uint8_t *pixel,
                          uint8_t *label_map, struct strbuf *why)
{
    const struct transform *t = s->transform;
    struct transformer *m = &w->transformer;
    struct label_reader *label = &w->label;
    const uint8_t *cached;
    struct image img;
    double start = stage_begin(m->times);
    int rc;

    if (s->cache && cache_get(s->cache, key->sample, &img, &cached)) {
        transform_label(m, t, key, cached, img.w, img.h, label_map);
        stage_end(m->times, STAGE_RESIZE, &start);
        transform_image(m, t, key, &img, pixel);
        return 0;
    }
    rc = dataset_label_map(s->data, key->sample, &s->limits, &w->bytes, label, why);
    stage_end(m->times, STAGE_DECODE, &start);
    if (rc == 0)
        rc = dataset_read(s->data, key->sample, s->limits.max_bytes, &w->bytes, why);
    stage_end(m->times, STAGE_READ, &start);
    if (rc == 0 && s->cache)
        rc = loader_segment_fit(w, s, why);
    else if (rc == 0)
        rc = transform_file(m, t, key, w->bytes.data, w->bytes.len, pixel, why);
    if (rc == 0)
        rc = loader_check_size(s, key->sample, m->w, m->h, label, why);
    if (rc < 0)
        return rc;
    start = stage_begin(m->times);
    if (s->cache) {
        cache_put(s->cache, key->sample, &w->fitted, w->small.pixel);
        transform_label(m, t, key, w->small.pixel, w->small.w, w->small.h, label_map);
        stage_end(m->times, STAGE_RESIZE, &start);
        transform_image(m, t, key, &w->fitted, pixel);
        return 0;
    }
    transform_label(m, t, key, label->pixel, label->w, label->h, label_map);
    stage_end(m->times, STAGE_RESIZE, &start);
    return 0;
}

/*
 * Loads a mosaic. The other quarters are loaded first, so that the decoder's warning is
 * that of the sample itself; its pixels also replace the quarters of damaged images.
 */
static int loader_mosaic(struct loader_worker *w, const struct loader_source *s,
                         const struct mosaic *m, uint8_t *pixel, uint8_t *label_map,
                         struct strbuf *why)
{
    const struct transform *t = s->transform;
    size_t pixels = transform_size(t);
    size_t d = (size_t)t->label_divisor, labels = (size_t)t->w / d * ((size_t)t->h / d);
    bool sound[MOSAIC_QUARTERS] = {false};
    int rc;

    dataset_bytes_reserve(&w->quarters, pixels + labels);
    for (int q = 0; q < MOSAIC_QUARTERS; q++) {
        if (q == m->self)
            continue;
        rc = loader_segment(w, s, &m->key[q], pixel, label_map, why);
        if (rc == FAILURE_MACHINE)
            return rc;
        sound[q] = rc == 0;
        if (rc == 0)
            mosaic_copy(m, q, t, pixel, label_map, w->quarters.data,
                        w->quarters.data + pixels);
        strbuf_reset(why);
    }
    image_decoder_forget(w->transformer.decoder);
    rc = loader_segment(w, s, &m->key[m->self], pixel, label_map, why);
    for (int q = 0; q < MOSAIC_QUARTERS && rc == 0; q++)
        if (sound[q])
            mosaic_copy(m, q, t, w->quarters.data, w->quarters.data + pixels, pixel,
                        label_map);
    return rc;
}

static int sample_once(struct loader_worker *w, const struct loader_source *s,
                       uint64_t epoch, int64_t sample, uint8_t *pixel, uint8_t *label_map,
                       struct strbuf *why)
{
    struct augment_key key = {s->seed, epoch, sample};
    struct transformer *m = &w->transformer;
    const uint8_t *label;
    struct image img;
    struct mosaic mosaic;
    double start = stage_begin(m->times);
    int rc;

    if (label_map && mosaic_draw(&mosaic, &key, s->mosaic, s->transform, s->data->n))
        return loader_mosaic(w, s, &mosaic, pixel, label_map, why);
    if (label_map)
        return loader_segment(w, s, &key, pixel, label_map, why);
    if (s->cache && cache_get(s->cache, sample, &img, &label)) {
        if (transform_is_fixed(s->transform))
            memcpy(pixel, img.pixel, transform_size(s->transform));
        else
            transform_image(m, s->transform, &key, &img, pixel);
        return 0;
    }
    rc = dataset_read(s->data, sample, s->limits.max_bytes, &w->bytes, why);
    stage_end(m->times, STAGE_READ, &start);
    if (rc < 0)
        return rc;
    if (s->cache && !transform_is_fixed(s->transform)) {
        rc = loader_cache_fill(w, s, sample, &img, why);
        stage_end(m->times, STAGE_DECODE, &start);
        if (rc == 0)
            transform_image(m, s->transform, &key, &img, pixel);
        return rc;
    }
    rc = transform_file(m, s->transform, &key, w->bytes.data, w->bytes.len, pixel, why);
    if (rc == 0 && s->cache)
        loader_cache_result(s, sample, pixel);
    return rc;
}

/* Frees the buffers of a large image. */
static void leave_gate(struct loader_worker *w, const struct image_limits *limits)
{
    struct loader_worker was = *w;

    if (!image_gate_inside())
        return;
    loader_worker_release(w);
    loader_worker_init(w, limits);
    w->times = was.times;
    w->measured = was.measured;
    w->samples = was.samples;
    w->number = was.number;
    w->observed = was.observed;
    w->log = was.log;
    image_gate_leave();
}

int loader_sample(struct loader_worker *w, const struct loader_source *s, uint64_t epoch,
                  int64_t sample, uint8_t *pixel, uint8_t *label_map, struct strbuf *why)
{
    struct dataset_retry again = {.pause = s->retry_seconds};
    bool measure = w->samples++ % MEASURED == 0 || w->observed;
    int rc;

    image_decoder_forget(w->transformer.decoder);
    w->log.n = 0;
    w->measured.log = w->observed ? &w->log : NULL;
    do {
        w->transformer.times = measure ? &w->measured : NULL;
        strbuf_reset(why);
        rc = sample_once(w, s, epoch, sample, pixel, label_map, why);
        leave_gate(w, &s->limits);
    } while (!atomic_load(s->hurry) && dataset_try_again(&again, rc));
    if (measure) {
        stage_times_add(&w->times, &w->measured, w->observed ? 1 : MEASURED);
        w->measured = (struct stage_times){0};
    }
    return rc;
}
