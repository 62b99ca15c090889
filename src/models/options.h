/*
 * What a run may choose about a model, each family what it has: the MODEL.* keys with the
 * names of their values. Zero is the model's own choice, so {.classes = 10} is complete.
 */
#ifndef MODELS_OPTIONS_H
#define MODELS_OPTIONS_H

#include "ops/init.h"

/* MODEL.RESNET.STEM */
enum resnet_stem {
    RESNET_STEM_OWN,
    RESNET_STEM_7X7,    /* stride 2, then a max pool of stride 2 */
    RESNET_STEM_3X3,    /* stride 1, no pool: for small images */
    RESNET_STEM_DEEP,   /* three 3x3 of widths w, w, 2w; w is half of stage 1's planes */
    RESNET_STEM_DEEP64, /* the same, twice as wide */
    RESNET_STEM_TIERED  /* widths 3w/4, w, 2w */
};

/* MODEL.RESNET.SHORTCUT: what a shortcut does where the size or the width changes. */
enum resnet_shortcut {
    RESNET_SHORTCUT_OWN,
    RESNET_SHORTCUT_CONV, /* 1x1 convolution with the block's stride (option B) */
    RESNET_SHORTCUT_AVG,  /* 2x2 average pool, then a 1x1 convolution */
    RESNET_SHORTCUT_PAD   /* every stride-th pixel, zero channels (option A) */
};

/* A switch that a model sets for itself if the run does not. */
enum model_switch { MODEL_SWITCH_OWN, MODEL_SWITCH_OFF, MODEL_SWITCH_ON };

struct model_options {
    int classes;
    double drop_rate;    /* of the dropout before the classifier */
    double drop_path;    /* of the last block; block i of n has drop_path * i / (n - 1) */
    enum init_rule init; /* weights of convolutions and linear layers */
    enum resnet_stem stem;
    enum resnet_shortcut shortcut;
    enum model_switch zero_init_last; /* the last BN weight of each residual branch */
};

#endif
