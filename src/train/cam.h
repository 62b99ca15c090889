/*
 * Grad-CAM (Selvaraju et al. 2017, 1610.02391) as pytorch-grad-cam computes it: the
 * channels of a layer's output, weighted by the mean of their gradients, summed, without
 * what is negative, and scaled to 0..1.
 */
#ifndef TRAIN_CAM_H
#define TRAIN_CAM_H

#include <stdbool.h>
#include <stdint.h>

#include "image/transform.h"
#include "models/stages.h"

/* Writes the map [height, width] of one image from the layer's output and its gradient,
 * [prefix + height * width, channels]. It ends in 0..1 (less its minimum, divided by its
 * maximum + 1e-7). Returns false if it is 0 everywhere: nothing speaks for the class. */
bool cam_map(const struct model_stage *s, const float *x, const float *dx, float *map);

/* Returns the value at (u, v) in 0..1 of the map's width and height: bilinear between the
 * centers of its cells, as cv2.resize. */
double cam_at(const struct model_stage *s, const float *map, double u, double v);

/*
 * Blends the map over an image of w x h RGB pixels, in place: half the image, half the
 * color of the value, from blue (0) by green to red (1) (matplotlib's jet). Pixels that
 * the transform (TRANSFORM_CENTER or TRANSFORM_STRETCH) crops away stay as they are.
 */
void cam_paint(const struct model_stage *s, const float *map, const struct transform *t,
               uint8_t *rgb, int w, int h);

#endif
