/* A decoder's two calls as one. */
#ifndef TESTS_DECODE_PICTURE_H
#define TESTS_DECODE_PICTURE_H

#include "image/image.h"

/* -1 with a reason in `why`, which is emptied first. */
int decode_picture(struct image_decoder *d, const void *data, size_t len,
                   const struct image_part *part, struct image *img, struct strbuf *why);

#endif
