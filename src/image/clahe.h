/* Contrast-limited adaptive histogram equalization, in place. */
#ifndef IMAGE_CLAHE_H
#define IMAGE_CLAHE_H

#include "image/policy_ops.h"

enum { CLAHE_TILES = 32 }; /* at most, on each axis */

/*
 * OpenCV's CLAHE with tiles x tiles tiles: of the values of a gray image, with OpenCV's
 * figures; of RGB on the L of 8-bit CIELAB as in Albumentations, within a few gray levels
 * (OpenCV converts with tables). clip_limit: of a histogram's counts over their mean; 0:
 * no limit.
 */
void clahe(struct policy_canvas *c, double clip_limit, int tiles);

/* The same of w * h bytes. */
void clahe_plane(uint8_t *v, int w, int h, double clip_limit, int tiles,
                 struct warp_canvas *memory);

#endif
