/*
 * A crop of a padded image, as torchvision's RandomCrop(size, padding, padding_mode)
 * makes it. The modes are those of numpy.pad: what stands beside a row "abcd" is
 *
 *   PAD_CONSTANT   000|abcd|000   black
 *   PAD_EDGE       aaa|abcd|ddd
 *   PAD_REFLECT    dcb|abcd|cba   the outermost pixel once
 *   PAD_SYMMETRIC  cba|abcd|dcb   the outermost pixel twice
 *
 * Padding wider than the image goes on in the same way, there and back.
 */
#ifndef IMAGE_PAD_CROP_H
#define IMAGE_PAD_CROP_H

#include <stdbool.h>
#include <stdint.h>

#include "image/image.h"

enum pad_mode { PAD_CONSTANT, PAD_EDGE, PAD_REFLECT, PAD_SYMMETRIC };

/* The index of the pixel, of n >= 1 in a row, that the padded row has at `at`, which may
 * be below 0 or beyond n; -1: none. */
int pad_source(enum pad_mode mode, int at, int n);

struct pad_crop {
    enum pad_mode mode;
    int x, y; /* of the crop's first pixel in the image; below 0 in the padding */
    int w, h;
    bool flip; /* the result, left to right */
};

/* The crop into dst, h * w * 3 bytes. */
void pad_crop(const struct image *img, const struct pad_crop *c, uint8_t *dst);

#endif
