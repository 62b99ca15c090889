/*
 * The ResNet family as in timm: He et al. 2015 (1512.03385) with the stride in the 3x3
 * ("v1.5"), ResNeXt (Xie et al. 2016, 1611.05431), wide ResNet (Zagoruyko and Komodakis
 * 2016, 1605.07146), the stems and shortcuts of "Bag of tricks" (He et al. 2018,
 * 1812.01187), squeeze-and-excitation (Hu et al. 2017, 1709.01507), attention of ECA-Net and
 * selective kernels (models/resnet_attend.h), ResNet-RS (Bello et al. 2021, 2103.07579),
 * smoothed strides (Zhang 2019, 1904.11486), and the CIFAR nets of the first paper.
 * Parameters have timm's names and are created in the order of timm's state dict.
 */
#ifndef MODELS_RESNET_H
#define MODELS_RESNET_H

#include <stdbool.h>

#include "models/table.h"

enum { RESNET_STAGES = 4 };

/* MODEL.RESNET.STEM */
enum resnet_stem {
    RESNET_STEM_OWN,
    RESNET_STEM_7X7,    /* stride 2, then a max pool of stride 2 */
    RESNET_STEM_3X3,    /* stride 1, no pool: for small images */
    RESNET_STEM_DEEP,   /* three 3x3 of widths w, w, 2w; w is half of stage 1's planes */
    RESNET_STEM_DEEP64, /* the same, twice as wide */
    RESNET_STEM_TIERED  /* widths 3w/4, w, 2w */
};

/* MODEL.RESNET.SHORTCUT: the shortcut where the size or the width changes. */
enum resnet_shortcut {
    RESNET_SHORTCUT_OWN,
    RESNET_SHORTCUT_CONV, /* 1x1 convolution with the block's stride (option B) */
    RESNET_SHORTCUT_AVG,  /* 2x2 average pool, then a 1x1 convolution */
    RESNET_SHORTCUT_PAD   /* every stride-th pixel, zero channels (option A) */
};

/* How a block of stride 2 halves the map after its 3x3, and the stem after its max pool. */
enum resnet_smooth {
    RESNET_SMOOTH_NONE,
    RESNET_SMOOTH_AVG, /* 2x2 average pool; in the stem, instead of the max pool */
    RESNET_SMOOTH_BLUR /* models/blocks.h: blur_pool */
};

/* Selective kernels instead of the 3x3 of each block (models/resnet_attend.h). */
struct resnet_selective {
    int ratio, divisor; /* ratio 0: none */
    bool split;
};

/* MODEL.RESNET.*; zero is the model's default. */
struct resnet_options {
    int stem, shortcut;             /* enum resnet_stem, resnet_shortcut */
    struct bool_opt zero_init_last; /* zero the last BN weight of each residual branch */
};

/* The parts of a net that differ by row of resnet_models. */
struct resnet {
    const char *block; /* a letter per stage: B basic (expansion 1), N bottleneck (4) */
    int depth[RESNET_STAGES], planes[RESNET_STAGES];
    enum resnet_stem stem;         /* zero: RESNET_STEM_7X7 */
    enum resnet_shortcut shortcut; /* zero: RESNET_SHORTCUT_CONV */
    int groups, base;              /* of the 3x3 in a bottleneck; 0: 1 and 64 */
    int se;            /* squeeze to channels / se; 0: no squeeze and excitation */
    bool eca;          /* ECA-Net's attention */
    bool conv_pool;    /* the stem's pool is a 3x3 convolution of stride 2 */
    bool shortcut_3x3; /* where a shortcut halves the map, it is a 3x3 */
    int reduce;        /* the first 1x1 has width / reduce channels; 0: 1 */
    int norm_groups;   /* group norms instead of batch norms; 0: batch norms */
    enum resnet_smooth smooth;
    struct resnet_selective selective;
    bool cifar; /* three stages; He initialization by fan-in, last BN not zeroed */
};

/* Images of any size and number of channels. Every residual block is a checkpoint scope. */
extern const struct model_family resnet_family;
extern const struct model resnet_models[];

#endif
