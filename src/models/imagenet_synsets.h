/*
 * The WordNet ids of the classes of classifiers that see more of ImageNet than its 1000
 * classes, in the order of timm's weights: in21k has 21843 classes, in22k 21841, in12k
 * 11821. Microsoft's weights of in22k have an order of their own.
 */
#ifndef MODELS_IMAGENET_SYNSETS_H
#define MODELS_IMAGENET_SYNSETS_H

#include <stdint.h>

#include "models/imagenet22k.h"

enum { IMAGENET_21K = 21843, IMAGENET_12K = 11821 };

/* Writes the ids, 2119789 for n02119789, and returns how many: `classes`, or 0 if there is
 * no such set. */
int imagenet_synsets(int classes, int32_t *id);

#endif
