#include "dataset/cache_size.h"

#include "base/alloc.h"

enum { LOOKS = 16 };

/* Returns the number of pixels that the cache stores for a w x h image. */
static double kept_pixels(const struct transform *t, const struct image_decoder *decoder,
                          int w, int h)
{
    int shrink = 1;

    if (t->label_divisor > 0) {
        if (transform_segment_fits(t))
            transform_segment_fit(t, w, h, &w, &h);
        return (double)w * h;
    }
    if (transform_is_fixed(t))
        return (double)t->w * t->h;
    if (image_decoder_shrinks(decoder))
        shrink = transform_min_shrink(t, w, h);
    return (double)w / shrink * h / shrink;
}

double cache_size(const struct dataset *d, const struct transform *t,
                  const struct image_limits *limits)
{
    int bytes = transform_channels(t) + (t->label_divisor > 0);
    int64_t looks = d->n < LOOKS ? d->n : LOOKS, read = 0;
    struct image_decoder *decoder = image_decoder_new(limits);
    struct dataset_bytes file = {0};
    double pixels = 0;

    for (int64_t i = 0; i < looks; i++) {
        struct strbuf why = STRBUF_INIT;
        int w, h;

        if (dataset_read(d, i * d->n / looks, limits->max_bytes, &file, &why) == 0 &&
            image_decoder_open(decoder, file.data, file.len, &w, &h, &why) == 0) {
            pixels += kept_pixels(t, decoder, w, h);
            read++;
        }
        strbuf_release(&why);
    }
    dataset_bytes_release(&file);
    image_decoder_free(decoder);
    return read ? pixels / (double)read * (double)d->n * bytes : 0;
}
