/*
 * The EXIF orientation: where pixel (x, y) of an image that is shown lies in the image
 * that is stored. Private to src/image.
 *
 * The numbers are those of EXIF 2.3 (CIPA DC-008), table "orientation": 1 as stored, 2
 * mirrored, 3 rotated by 180 degrees, 4 upside down, 5 transposed, 6 to be rotated
 * clockwise, 7 transposed the other way, 8 to be rotated counterclockwise.
 */
#ifndef IMAGE_EXIF_H
#define IMAGE_EXIF_H

#include "image/image.h"

/* From an EXIF block, which is a TIFF's header and first directory; 1 if it is none of the
 * numbers, 0 if the block has none. */
int exif_orientation(const uint8_t *block, size_t len);

/* From an XMP packet: the digit after tiff:Orientation=" or tiff:Orientation>, as Pillow
 * looks for it; 1 and 0 as above. */
int exif_orientation_xmp(const uint8_t *packet, size_t len);

/* From ImageMagick's text "Raw profile type exif": three lines, then the block in
 * hexadecimal. */
int exif_orientation_text(const uint8_t *text, size_t len);

static inline bool exif_swaps(int orientation)
{
    return orientation >= 5;
}

/* The stored part of a w x h image (as stored) of which the shown part is `p`. */
struct image_part exif_stored(int orientation, const struct image_part *p, int w, int h);

/* `from`, a part of a w x h image (all as stored), as it is shown. */
void exif_apply(int orientation, const struct image *from, int w, int h,
                struct image *to);

#endif
