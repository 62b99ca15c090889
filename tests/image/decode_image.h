/* Combines the two calls of a decoder, and checks images of every format. */
#ifndef TESTS_IMAGE_DECODE_IMAGE_H
#define TESTS_IMAGE_DECODE_IMAGE_H

#include "image/image.h"

/* Returns -1 with a reason in `why`, which is cleared first. */
int decode_image(struct image_decoder *d, const void *data, size_t len,
                 const struct image_part *part, struct image *img, struct strbuf *why);

/* Checks 60 random parts of a file against the same pixels of the whole image. */
void decode_check_parts(const void *data, size_t len, uint64_t salt);

/* Expects a refusal whose reason contains `reason`, before pixels are allocated. */
void decode_refuse(const struct image_limits *limits, const void *data, size_t len,
                   const char *reason);

#endif
