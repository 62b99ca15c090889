/*
 * Inception-v3 (Szegedy et al. 2015, 1512.00567) as in timm and torchvision, whose names of
 * parameters are the same, created in the order of their state dicts.
 *
 * Its auxiliary head (the paper's figure 8) reads the last map of 1/16. Its weight in the
 * loss is 0.4 as in torchvision; MODEL.AUX_WEIGHT 0 leaves it out. Where the map has fewer
 * than 17 rows or columns, for which torchvision's head fails, its pooling is adaptive.
 */
#ifndef MODELS_INCEPTION_H
#define MODELS_INCEPTION_H

#include "models/table.h"

struct inception {
    int width; /* channels of the first convolution, 32; all others are in proportion */
};

/* Images of at least 75 x 75 pixels and any number of channels. Every block is a checkpoint
 * scope. */
extern const struct model_family inception_family;

#endif
