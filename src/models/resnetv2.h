/*
 * ResNets with pre-activation (He et al. 2016, 1603.05027) as in timm's resnetv2.py: norm and
 * ReLU before each convolution, and after the last block.
 * It has batch norms or group norms, basic blocks or bottlenecks. BiT, whose weights are
 * standardized whenever they are read, is left out.
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
};

/* Images of any size from 32 x 32 pixels and any number of channels. Every residual block is a
 * checkpoint scope. */
extern const struct model_family resnetv2_family;

#endif
