/*
 * Mix Transformer (Xie et al. 2021, 2105.15203), the encoder of SegFormer: four stages of
 * overlapping patches, attention whose keys and values are of a smaller map, and a 3x3
 * depthwise convolution in each MLP instead of positions. Parameters have the authors'
 * names; the classifier reads the mean of the last map.
 */
#ifndef MODELS_MIT_H
#define MODELS_MIT_H

#include "models/table.h"

enum { MIT_STAGES = 4 };

struct mit {
    int width[MIT_STAGES], depth[MIT_STAGES];
};

/* Images whose sides are multiples of 32. */
extern const struct model_family mit_family;

#endif
