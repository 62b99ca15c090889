/*
 * A crop of a padded image, as torchvision's RandomCrop(size, padding, padding_mode)
 * makes it. The modes are those of numpy.pad, shown for a row "abcd":
 *
 *   PAD_CONSTANT   000|abcd|000   black
 *   PAD_EDGE       aaa|abcd|ddd
 *   PAD_REFLECT    dcb|abcd|cba   the outermost pixel once
 *   PAD_SYMMETRIC  cba|abcd|dcb   the outermost pixel twice
 *
 * Padding wider than the image repeats the pattern back and forth.
 */
#ifndef IMAGE_PAD_CROP_H
#define IMAGE_PAD_CROP_H

#include <stdbool.h>
#include <stdint.h>

#include "image/image.h"

enum pad_mode { PAD_CONSTANT, PAD_EDGE, PAD_REFLECT, PAD_SYMMETRIC };

/* Returns the source index (of n >= 1 pixels) of position `pos` in the padded row, which
 * may be below 0 or beyond n; -1 for black. */
int pad_source(enum pad_mode mode, int pos, int n);

struct pad_crop {
    enum pad_mode mode;
    int x, y; /* position of the crop's first pixel in the image; negative in the
               * padding */
    int w, h;
    bool flip; /* mirrors the result */
};

/* Writes the crop to dst, h * w * 3 bytes. */
void pad_crop(const struct image *img, const struct pad_crop *c, uint8_t *dst);

#endif
