/*
 * What stb.c has to see to itself in a PNG: its chunks, each of them length, type, data,
 * CRC-32 of type and data; a capital begins the types that count (PNG specification, 5.3
 * and 5.4). Private to src/image.
 */
#ifndef IMAGE_PNG_CHUNKS_H
#define IMAGE_PNG_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/*
 * The sides stand at a fixed place. stb_image takes a PNG that is too large for it for no
 * image at all.
 */
bool png_chunks_size(const uint8_t *d, size_t len, int *w, int *h);

/*
 * -1 and a reason: it is cut off, or a checksum is wrong. stb_image passes over them, so
 * that damage would become noise.
 */
int png_chunks_check(const uint8_t *d, size_t len, struct strbuf *why);

/*
 * After that: a copy, for free(), whose palette has all 256 colours, black where the file
 * has none, as PIL takes them: stb_image reads what lies on the stack. NULL: nothing is
 * missing, or stb_image says what is. What is after IEND nobody has looked at.
 */
uint8_t *png_chunks_fill(const uint8_t *d, size_t *len);

/* The orientation of exif.h, from eXIf, from the text "Raw profile type exif" (ImageMagick's)
 * or "... APP1", or from XMP, in this order; 0: there is none. */
int png_chunks_orientation(const uint8_t *d, size_t len);

#endif
