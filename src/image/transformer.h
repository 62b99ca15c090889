/*
 * Applies transforms (transform.h) to the bytes of a file, a decoded image, or a label map.
 */
#ifndef IMAGE_TRANSFORMER_H
#define IMAGE_TRANSFORMER_H

#include "image/transform.h"

/* State of one thread, reused. */
struct transformer {
    struct image_decoder *decoder;
    struct resizer resizer;
    struct image image, scratch;
    struct image three, made; /* other channels than RGB: three of them, and their
                               * result */
    struct warp_canvas warp, more;
    int w, h; /* of the last image passed to transform_file or transform_image */
    struct stage_times *times; /* receives decode, resize, augment; may be NULL */
    int *column;               /* used by transform_label */
    struct resize_job *job;    /* resize_later: set by the caller for the next sample */
    int column_cap;            /* of column */
};

void transformer_init(struct transformer *m, const struct image_limits *limits);
void transformer_release(struct transformer *m);

/* Makes one sample from the bytes of a file into dst (transform_size() bytes). Returns -1
 * with a reason, without the file's name, if it is damaged. */
int transform_file(struct transformer *m, const struct transform *t,
                   const struct augment_key *k, const void *data, size_t len,
                   uint8_t *dst, struct strbuf *why);

/* Same from a decoded image with these channels; the same pixels if nothing would be
 * shrunk. */
void transform_image(struct transformer *m, const struct transform *t,
                     const struct augment_key *k, const struct image *whole,
                     uint8_t *dst);

/*
 * Transforms the label map (w x h bytes of src, the size of its image) into dst, [t->h /
 * d, t->w / d] with d = t->label_divisor: the values of the pixels at d i + d / 2.
 */
void transform_label(struct transformer *m, const struct transform *t,
                     const struct augment_key *k, const uint8_t *src, int w, int h,
                     uint8_t *dst);

#endif
