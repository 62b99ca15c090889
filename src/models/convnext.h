/*
 * ConvNeXt (Liu et al. 2022, arXiv 2201.03545) as in timm: 4 x 4 patches, stages of
 * blocks of a depthwise 7 x 7 convolution, a layer norm, and an MLP, with layer scale; 2
 * x 2 convolutions between stages. Layer norms have eps 1e-6.
 *
 * Parameters have timm's names and are created in the order of timm's state dict.
 * MODEL.DROP_RATE applies to the dropout before the classifier. Every block is a
 * checkpoint scope.
 */
#ifndef MODELS_CONVNEXT_H
#define MODELS_CONVNEXT_H

#include "models/table.h"

enum { CONVNEXT_STAGES = 4 };

/* A model's arch. */
struct convnext {
    int depth[CONVNEXT_STAGES], width[CONVNEXT_STAGES];
};

extern const struct model_family convnext_family;

#endif
