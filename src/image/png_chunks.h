/*
 * Checks that stb.c needs beyond stb_image: the chunks of a PNG. Each has length, type,
 * data, CRC-32 of type and data; critical types begin with a capital (PNG specification,
 * 5.3 and 5.4). Private to src/image.
 */
#ifndef IMAGE_PNG_CHUNKS_H
#define IMAGE_PNG_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/*
 * Reads the sides, which have a fixed offset: stb_image does not recognize a PNG that is
 * too large for it.
 */
bool png_chunks_size(const uint8_t *d, size_t len, int *w, int *h);

/*
 * Returns -1 with a reason if the file is cut off or a checksum is wrong. stb_image
 * ignores both, and damage would become noise.
 */
int png_chunks_check(const uint8_t *d, size_t len, struct strbuf *why);

/*
 * Call after that. Returns a copy (free() it) whose palette has all 256 colors, black if
 * missing, as in PIL: stb_image would read uninitialized memory. Returns NULL if nothing
 * is missing or if stb_image reports the error. Data after IEND are unchecked.
 */
uint8_t *png_chunks_fill(const uint8_t *d, size_t *len);

/* Returns the orientation (exif.h) from eXIf, from ImageMagick's text "Raw profile type
 * exif" or "... APP1", or from XMP, in this order; 0 if there is none. */
int png_chunks_orientation(const uint8_t *d, size_t len);

#endif
