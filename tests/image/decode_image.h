/* A decoder's two calls as one, and what holds for the images of every format. */
#ifndef TESTS_IMAGE_DECODE_IMAGE_H
#define TESTS_IMAGE_DECODE_IMAGE_H

#include "image/image.h"

/* -1 with a reason in `why`, which is emptied first. */
int decode_image(struct image_decoder *d, const void *data, size_t len,
                 const struct image_part *part, struct image *img, struct strbuf *why);

/* 60 random parts of a file, each equal to the same pixels of the whole image. */
void decode_check_parts(const void *data, size_t len, uint64_t salt);

/* Refused for a reason that has `reason` in it, before there is room for pixels. */
void decode_refuse(const struct image_limits *limits, const void *data, size_t len,
                   const char *reason);

#endif
