/*
 * TIFFs whose samples have more than 8 bits, a sign, or a fraction: gray or RGB of 8, 16,
 * or 32 bits, floats of 32 or 64 bits. base/value_range.h defines black and white.
 * Private to src/image.
 */
#ifndef IMAGE_TIFF_DEEP_H
#define IMAGE_TIFF_DEEP_H

#include <tiffio.h>

#include "image/decoder.h"

/* True if the open page is one of these. */
bool tiff_deep_is(TIFF *t);

/* Reads the part of the open page, whose size is within limits, as decoder.read. Returns
 * false with a reason from libtiff or in `why`. */
bool tiff_deep_read(TIFF *t, const struct decoder_file *f, const struct image_part *part,
                    struct image *img, struct strbuf *why);

#endif
