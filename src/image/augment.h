/*
 * The geometry of random crops. base/augment_formula.h has the random numbers of an image
 * and the formulas of the other augmentations.
 *
 * Formulas follow torchvision (transforms.py) and timm (transforms_factory.py).
 */
#ifndef IMAGE_AUGMENT_H
#define IMAGE_AUGMENT_H

#include "base/augment_formula.h"

/*
 * Random resized crop of a W x H image: up to 10 tries of an area W H U(scale) with
 * aspect exp(U(log ratio)), w = round(sqrt(area aspect)), h = round(sqrt(area / aspect)),
 * at a uniformly drawn position; if none fits, the largest centered crop with an allowed
 * aspect.
 */
struct augment_box augment_resized_crop(const struct augment_key *k, int w, int h,
                                        const double scale[2], const double ratio[2]);

#endif
