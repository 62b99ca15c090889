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

/* From an EXIF block, which is a TIFF's header and first directory; 1 if there is none,
 * or it is none of the numbers. */
int exif_orientation(const uint8_t *block, size_t len);

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
