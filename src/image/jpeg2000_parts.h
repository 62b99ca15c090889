/*
 * Checks that a JPEG 2000 is complete: OpenJPEG replaces missing data by black tiles or a
 * coarser image. Private to src/image.
 *
 * A codestream (ISO/IEC 15444-1, annex A) is a main header, tile-parts whose headers
 * store their length, and an end mark. In a .jp2 it is the box jp2c (annex I).
 */
#ifndef IMAGE_JPEG2000_PARTS_H
#define IMAGE_JPEG2000_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* Returns -1 with a reason if the file ends before the codestream, or if a tile has no
 * part. */
int jpeg2000_parts_check(const uint8_t *d, size_t len, struct strbuf *why);

/* True if its wavelet is the irreversible 9-7 one (COD of the main header). */
bool jpeg2000_parts_lossy(const uint8_t *d, size_t len);

#endif
