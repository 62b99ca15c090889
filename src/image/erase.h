/*
 * Random erasing (Zhong et al. 2017, arXiv 1708.04896), as in timm
 * (data/random_erasing.py): with a given probability, overwrites one to `count` boxes
 * with an area of U(0.02, 1/3) of the image divided by the number of boxes, an aspect of
 * exp(U(log 0.3, log 1/0.3)), and a uniformly drawn position.
 *
 * timm fills boxes after normalization: N(0, 1) per element (pixel) or per channel and
 * box (rand), or 0 (const). Here pixels are still bytes, so the noise z becomes the byte
 * nearest to 255 (mean + std z), clipped to 0..255: with ImageNet's mean and deviation,
 * one value in 25 is clipped. z has ERASE_LEVELS equally likely values.
 */
#ifndef IMAGE_ERASE_H
#define IMAGE_ERASE_H

#include <stdint.h>

#include "base/erase_formula.h"

struct erase {
    double probability; /* 0: off */
    enum erase_mode mode;
    int count; /* maximum number of boxes */
    struct erase_levels levels;
};

/* mean and std: of the normalization, in units of 255. */
void erase_init(struct erase *e, double probability, enum erase_mode mode, int count,
                const double mean[3], const double std[3]);

/* Draws up to `count` boxes for a sample; returns their number, often 0. */
int erase_boxes(const struct erase *e, const struct augment_key *k, int w, int h,
                struct augment_box b[ERASE_COUNT]);

/* Draws the boxes and fills them, in place. */
void erase_apply(const struct erase *e, const struct augment_key *k, uint8_t *rgb, int w,
                 int h);

#endif
