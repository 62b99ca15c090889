/*
 * FPN for segmentation (Kirillov et al. 2019, 1901.02446) and PSPNet (Zhao et al. 2017,
 * 1612.01105) on the stages of a classifier, as in segmentation-models-pytorch, whose names
 * parameters have.
 */
#ifndef MODELS_PYRAMID_H
#define MODELS_PYRAMID_H

#include "models/table.h"

enum pyramid_kind { PYRAMID_FPN, PYRAMID_PSPNET };

struct pyramid {
    enum pyramid_kind kind;
    int side;   /* images are multiples of it */
    float drop; /* rate of the decoder's dropout of channels */
};

/* Images whose sides are multiples of 32 (fpn) or 8 (pspnet). */
extern const struct model_family pyramid_family;

#endif
