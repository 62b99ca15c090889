/*
 * ConvNeXt (Liu et al. 2022, arXiv 2201.03545) and ConvNeXt V2 (Woo et al. 2023, arXiv
 * 2301.00808) as in timm: 4 x 4 patches, stages of blocks of a depthwise 7 x 7
 * convolution, a layer norm, and an MLP; 2 x 2 convolutions between stages. V1 has layer
 * scale; V2 has global response normalization within the MLP instead.
 *
 * Parameters have timm's names and are created in the order of timm's state dict.
 * MODEL.DROP_RATE applies to the dropout before the classifier. Every block is a
 * checkpoint scope.
 */
#ifndef MODELS_CONVNEXT_H
#define MODELS_CONVNEXT_H

#include "models/table.h"

enum { CONVNEXT_STAGES = 4 };

enum convnext_stem {
    CONVNEXT_PATCHES, /* 4 x 4 */
    CONVNEXT_OVERLAP, /* two 3 x 3 convolutions of stride 2 */
    CONVNEXT_TIERED   /* the same; the first has half the width */
};

/* A model's arch. */
struct convnext {
    int depth[CONVNEXT_STAGES], width[CONVNEXT_STAGES];
    bool conv_mlp;   /* linear layers are 1 x 1 convolutions in state dicts */
    bool grn;        /* V2 */
    bool norm_first; /* the last norm comes before the pooling */
    enum convnext_stem stem;
    int hidden;                  /* of a hidden layer before the classifier; 0: none */
    float eps;                   /* of layer norms; 0: 1e-6 */
    int kernel[CONVNEXT_STAGES]; /* of the depthwise convolutions; 0: 7 */
    const char *act;             /* name in ops/activation.h; NULL means gelu */
};

extern const struct model_family convnext_family;

#endif
