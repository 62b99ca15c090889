/* Names of the ImageNet-1k classes, in the order of public weights. */
#ifndef MODELS_IMAGENET_NAMES_H
#define MODELS_IMAGENET_NAMES_H

#include "models/imagenet22k.h"

extern const char *const imagenet_names[IMAGENET_1K];

#endif
