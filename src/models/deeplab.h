/*
 * Nets with dilated backbones: DeepLabV3 (Chen et al. 2017, 1706.05587) and V3+ (Chen et al.
 * 2018, 1802.02611) with the names of segmentation-models-pytorch; DeepLabV3 and FCN (Long
 * et al. 2015, 1411.4038) with torchvision's, and an auxiliary FCN head.
 */
#ifndef MODELS_DEEPLAB_H
#define MODELS_DEEPLAB_H

#include "models/table.h"

enum deeplab_kind { DEEPLAB_V3, DEEPLAB_V3PLUS, DEEPLAB_TORCHVISION, FCN_TORCHVISION };

struct deeplab {
    enum deeplab_kind kind;
    int output_stride; /* of the backbone, unless MODEL.OUTPUT_STRIDE is set */
    float drop;        /* rate of the dropout at the end of ASPP, or of the FCN heads */
};

/* Images of any size; those of segmentation-models-pytorch: multiples of the output
 * stride. */
extern const struct model_family deeplab_family;

#endif
