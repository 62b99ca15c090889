/*
 * ResNets with pre-activation (He et al. 2016, 1603.05027) as in timm's resnetv2.py: norm and
 * ReLU before each convolution, and after the last block.
 *
 *   BiT     group norms, weights standardized by their mean and variance (Qiao et al. 2019,
 *           1903.10520) whenever they are read, widths times a factor (Kolesnikov et al. 2019,
 *           1912.11370)
 *   others  batch norms or group norms with ordinary weights; basic blocks or bottlenecks
 *
 * Parameters have timm's names and are created in the order of timm's state dict.
 */
#ifndef MODELS_RESNETV2_H
#define MODELS_RESNETV2_H

#include "models/table.h"

enum { RESNETV2_STAGES = 4 };

enum resnetv2_stem {
    RESNETV2_STEM_7X7,
    RESNETV2_STEM_DEEP,  /* three 3x3 of widths w / 2, w / 2, w */
    RESNETV2_STEM_TIERED /* 3 w / 8, w / 2, w */
};

struct resnetv2 {
    int depth[RESNETV2_STAGES], width[RESNETV2_STAGES]; /* width: of a stage's result */
    int stem_width;
    enum resnetv2_stem stem;
    bool basic;        /* blocks of two 3x3; otherwise bottlenecks of width / 4 */
    bool avg_shortcut; /* 2x2 average pool before a shortcut's 1x1, instead of a stride */
    bool group_norm;   /* of 32 groups */
    bool standardized; /* BiT: weights, and a max pool that sees padding as zeros */
};

/* Images of any size from 32 x 32 pixels and any number of channels. Every residual block is a
 * checkpoint scope. */
extern const struct model_family resnetv2_family;

#endif
