/* Gaussian blur of an image, in place. */
#ifndef IMAGE_BLUR_H
#define IMAGE_BLUR_H

#include "image/policy_ops.h"

/*
 * torchvision's GaussianBlur with a kernel of 2 r + 1 taps, r = int(4 sigma + 0.5): the
 * image is reflected at its edges, without repeating the outermost pixels. Within one
 * gray level of torchvision's. sigma 0 changes nothing.
 */
void blur_gaussian(struct policy_canvas *c, double sigma);

#endif
