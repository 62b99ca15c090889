/*
 * Draws segmentations. A label map has a class index or LABEL_IGNORE per pixel. Colors
 * are those of the class set, or PASCAL VOC's if it is NULL; ignored pixels are black.
 */
#ifndef TRAIN_PAINT_H
#define TRAIN_PAINT_H

#include <stdint.h>

#include "dataset/class_set.h"

/* label[n]: the class of each pixel, from logits [n, k], the same as in the scores. */
void paint_argmax(const float *logits, int64_t n, int k, uint8_t *label);

/* dst is RGB with rows of `stride` bytes; each label covers scale x scale pixels of
 * it. */
struct paint {
    uint8_t *dst;
    int64_t stride;
    int w, h, scale; /* w, h: size of dst */
};
void paint_labels(const struct paint *p, const struct class_set *set,
                  const uint8_t *label);

/* dst = (rgb + color) / 2 for the n pixels, or rgb for ignored ones. */
void paint_overlay(const struct class_set *set, const uint8_t *rgb, const uint8_t *label,
                   int64_t n, uint8_t *dst);

/* Writes a PNG file, with palette[256 * 3] or, if that is NULL, in RGB. Dies if it cannot
 * be written. */
void paint_write(const char *path, const uint8_t *pixel, int w, int h,
                 const uint8_t *palette);
void paint_palette(const struct class_set *set, uint8_t palette[256 * 3]);

#endif
