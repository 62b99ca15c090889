/*
 * PNGs that are cut off or damaged, decoded as far as possible by libpng. Private to
 * src/image.
 */
#ifndef IMAGE_PNG_CUT_H
#define IMAGE_PNG_CUT_H

#include "image/decoder.h"

/* As decoder.read, of an image of w x h; missing pixels are black, and `f` gets a
 * warning. Returns FAILURE_DATA if even the header cannot be read. */
int png_cut_read(const struct decoder_file *f, int w, int h,
                 const struct image_part *part, struct image *img, struct strbuf *why);

#endif
