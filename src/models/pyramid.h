/*
 * FPN for segmentation (Kirillov et al. 2019, 1901.02446), PSPNet (Zhao et al. 2017,
 * 1612.01105), UPerNet (Xiao et al. 2018, 1807.10221), and SegFormer (Xie et al. 2021,
 * 2105.15203) on the stages of a classifier, as in segmentation-models-pytorch, whose names
 * parameters have.
 */
#ifndef MODELS_PYRAMID_H
#define MODELS_PYRAMID_H

#include "models/table.h"

enum pyramid_kind { PYRAMID_FPN, PYRAMID_PSPNET, PYRAMID_UPERNET, PYRAMID_SEGFORMER };

struct pyramid {
    enum pyramid_kind kind;
    int side;   /* images are multiples of it */
    int width;  /* channels of the decoder of UPerNet and SegFormer */
    float drop; /* rate of the decoder's dropout of channels (FPN, PSPNet) */
};

/* Images whose sides are multiples of 32, or of 8 (pspnet). */
extern const struct model_family pyramid_family;

#endif
