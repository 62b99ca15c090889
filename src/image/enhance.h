/*
 * Pillow's color operations (ImageEnhance, ImageOps), in place on `n` pixels of
 * interleaved RGB. An enhancement is out = D + f (x - D) in float, clipped to 0..255 and
 * truncated; D is black (brightness), the constant int(mean(L) + 0.5) (contrast), the
 * pixel's own L (color, also called saturation), or the smoothed image (sharpness), with
 * L = (19595 R + 38470 G + 7471 B + 32768) >> 16.
 */
#ifndef IMAGE_ENHANCE_H
#define IMAGE_ENHANCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/color_formula.h"

/* L of one pixel. */
static inline int enhance_gray(const uint8_t *p)
{
    return augment_gray(p[0], p[1], p[2]);
}

void enhance_brightness(uint8_t *rgb, size_t n, float f);
void enhance_contrast(uint8_t *rgb, size_t n, float f);
void enhance_color(uint8_t *rgb, size_t n, float f);

/* torchvision's adjust_hue: Pillow's HSV, whose hue, 0 to 255, is moved by 255 shift
 * (truncated) and wraps around. */
void enhance_hue(uint8_t *rgb, size_t n, double shift);

/* D is [1 1 1; 1 5 1; 1 1 1] / 13; the outermost pixels stay. `scratch` has the size of
 * the image. */
void enhance_sharpness(uint8_t *rgb, int w, int h, float f, uint8_t *scratch);

/* Stretches each channel's used range to 0..255. */
void enhance_autocontrast(uint8_t *rgb, size_t n);

/* Equalizes each channel's histogram. */
void enhance_equalize(uint8_t *rgb, size_t n);

void enhance_invert(uint8_t *rgb, size_t n);

/* x >= threshold becomes 255 - x */
void enhance_solarize(uint8_t *rgb, size_t n, int threshold);

/* x < threshold becomes min(255, x + add) */
void enhance_solarize_add(uint8_t *rgb, size_t n, int add, int threshold);

/* Keeps the top `bits` bits; 8 or more change nothing, 0 gives black. */
void enhance_posterize(uint8_t *rgb, size_t n, int bits);

#endif
