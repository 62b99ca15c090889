/* The image of scripts/golden/image_formula.py: smooth parts, edges, and noise. */
#ifndef TESTS_IMAGE_IMAGE_FORMULA_H
#define TESTS_IMAGE_IMAGE_FORMULA_H

#include "image/image.h"

void image_formula(struct image *img, int w, int h);

#endif
