/*
 * The EXIF orientation: maps pixel (x, y) of the displayed image to the stored image.
 * Private to src/image.
 *
 * The numbers follow EXIF 2.3 (CIPA DC-008), table "orientation": 1 as stored, 2
 * mirrored, 3 rotated by 180 degrees, 4 upside down, 5 transposed, 6 to be rotated
 * clockwise, 7 transposed the other way, 8 to be rotated counterclockwise.
 */
#ifndef IMAGE_EXIF_H
#define IMAGE_EXIF_H

#include "image/image.h"

/* Reads the orientation from an EXIF block (a TIFF header and its first directory).
 * Returns 1 if the value is invalid, 0 if there is none. */
int exif_orientation(const uint8_t *block, size_t len);

/* Reads the orientation from an XMP packet: the digit after tiff:Orientation=" or
 * tiff:Orientation>, as Pillow does. Returns 1 and 0 as above. */
int exif_orientation_xmp(const uint8_t *packet, size_t len);

/* Reads the orientation from ImageMagick's text "Raw profile type exif": three lines,
 * then the block in hexadecimal. */
int exif_orientation_text(const uint8_t *text, size_t len);

static inline bool exif_swaps(int orientation)
{
    return orientation >= 5;
}

/* Returns the stored part of a w x h image (as stored) that is displayed as `p`. */
struct image_part exif_stored(int orientation, const struct image_part *p, int w, int h);

/* Converts `src`, a part of a w x h image (all as stored), to the displayed orientation. */
void exif_apply(int orientation, const struct image *src, int w, int h,
                struct image *dst);

#endif
