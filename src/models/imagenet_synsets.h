/*
 * The WordNet ids of classifiers with more classes than ImageNet's 1000, in the order of
 * timm's weights: in21k has 21843 classes, in22k 21841, in12k 11821. Microsoft's in22k
 * weights have another order.
 */
#ifndef MODELS_IMAGENET_SYNSETS_H
#define MODELS_IMAGENET_SYNSETS_H

#include <stdint.h>

#include "models/imagenet22k.h"

enum { IMAGENET_21K = 21843, IMAGENET_12K = 11821 };

/* Writes the ids (2119789 for n02119789) and returns their number: `classes`, or 0 if
 * there is no such set. */
int imagenet_synsets(int classes, int32_t *id);

#endif
