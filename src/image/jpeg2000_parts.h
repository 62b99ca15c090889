/*
 * What jpeg2000.c has to see to itself: is all of a JPEG 2000 there? OpenJPEG takes what
 * is cut off for black tiles, or for a coarser image. Private to src/image.
 *
 * A codestream (ISO/IEC 15444-1, annex A) is a main header, tile-parts whose heads say
 * how long they are, and an end mark. In a .jp2 it is the box jp2c (annex I).
 */
#ifndef IMAGE_JPEG2000_PARTS_H
#define IMAGE_JPEG2000_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* -1 and a reason: the file ends before the codestream does, or a tile has no part. */
int jpeg2000_parts_check(const uint8_t *d, size_t len, struct strbuf *why);

/* Does its wavelet round (the main header's COD has the one of 9 and 7 taps)? */
bool jpeg2000_parts_lossy(const uint8_t *d, size_t len);

#endif
