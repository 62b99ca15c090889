/*
 * Segmentations as images. A label map has a class per pixel, LABEL_IGNORE for none;
 * colours are those of the class set (NULL: PASCAL VOC's), black where nothing counts.
 */
#ifndef TRAIN_PAINT_H
#define TRAIN_PAINT_H

#include <stdint.h>

#include "dataset/class_set.h"

/* The class of each of n pixels of k logits, the one that it has in the scores. */
void paint_argmax(const float *logits, int64_t n, int k, uint8_t *label);

/* dst is RGB with rows of `stride` bytes; label pixel (x, y) covers scale x scale
 * of it. */
struct paint {
    uint8_t *dst;
    int64_t stride;
    int w, h, scale; /* of dst */
};
void paint_labels(const struct paint *p, const struct class_set *set,
                  const uint8_t *label);

/* dst[n] = (rgb + colours) / 2, where a pixel has a class; else rgb. */
void paint_overlay(const struct class_set *set, const uint8_t *rgb, const uint8_t *label,
                   int64_t n, uint8_t *dst);

/* A PNG file; dies if it cannot be written. palette[256 * 3] or NULL: RGB. */
void paint_write(const char *path, const uint8_t *pixel, int w, int h,
                 const uint8_t *palette);
void paint_palette(const struct class_set *set, uint8_t palette[256 * 3]);

#endif
