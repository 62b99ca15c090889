/*
 * What EfficientNet and the MobileNets have in common: a stem, stages of blocks with
 * depthwise convolutions, scaled in width and depth, and a 1x1 convolution before or
 * after the pooling. A family is a table of blocks, and its models scale the table.
 *
 *   static const struct mobile_blocks blocks[] = {
 *       {MOBILE(SEPARABLE, 1, 3, 1, 1, 16), .squeeze = 0.25},     one stage per row
 *       {MOBILE(INVERTED, 2, 3, 2, 6, 24), .squeeze = 0.25},
 *       {0}};
 *
 * Parameters have timm's names (its EfficientNet and MobileNetV3 classes) and are created
 * in the order of timm's state dict. Weights are initialized as there: convolutions
 * normally by fan-out of a group, the classifier uniformly by fan-out, biases 0.
 */
#ifndef MODELS_MOBILE_H
#define MODELS_MOBILE_H

#include "models/table.h"

enum mobile_kind {
    MOBILE_SEPARABLE = 1, /* depthwise, 1x1 */
    MOBILE_INVERTED,      /* 1x1 that expands, depthwise, 1x1 (MBConv) */
    MOBILE_FUSED,         /* a full convolution that expands, 1x1 (FusedMBConv) */
    MOBILE_CONV,          /* a convolution */
    MOBILE_UNIVERSAL      /* inverted, where each depthwise convolution is optional */
};

/* Equal blocks in sequence, of which the first has the stride. A block has a shortcut if
 * its input and output have the same shape. */
struct mobile_blocks {
    enum mobile_kind kind; /* 0 ends the table */
    int repeat, kernel, stride;
    double expand;    /* width inside the block / width of its input */
    int out;          /* channels */
    double squeeze;   /* squeeze and excitation: see enum mobile_squeeze; 0: none */
    int start;        /* MOBILE_UNIVERSAL: kernel before the expansion; 0: none */
    bool same_stage;  /* continues the stage of the row before */
    bool relu;        /* the activation is ReLU, not the net's */
    bool no_shortcut; /* in no block */
};

/* Makes a row: blocks, kernel, stride, expansion, channels. */
#define MOBILE(KIND, n, k, s, e, c)                                                      \
    .kind = MOBILE_##KIND, .repeat = (n), .kernel = (k), .stride = (s), .expand = (e),   \
    .out = (c)

/* Channels between the two layers of squeeze and excitation, and their activations. */
enum mobile_squeeze {
    MOBILE_SQUEEZE_INPUT,  /* of the block's input; the net's activation, sigmoid */
    MOBILE_SQUEEZE_INSIDE, /* of the width inside; the net's activation, hard sigmoid */
    MOBILE_SQUEEZE_RELU    /* the same, a multiple of 8; ReLU, hard sigmoid */
};

/* The 1x1 convolution at the end. */
enum mobile_head {
    MOBILE_HEAD_CONV,      /* conv, norm, activation, pool */
    MOBILE_HEAD_POOL,      /* pool, conv, activation */
    MOBILE_HEAD_POOL_BIAS, /* pool, conv with bias, activation */
    MOBILE_HEAD_POOL_NORM  /* pool, conv, norm, activation */
};

struct mobile {
    const struct mobile_blocks *blocks;
    double width, depth; /* factors of .out and .repeat in the table; 0: 1 */
    int stem, features;  /* channels of the first and the last convolution */
    const char *act;     /* ops/activation.h */
    float act_number;    /* 6: ReLU6 */
    float eps;           /* of batch norms; 0: PyTorch's */
    bool same;           /* TensorFlow's padding */
    bool fixed_ends;     /* the first and the last stage are not deeper */
    bool rounds_down;    /* scaled widths may round down by more than 10 % */
    enum mobile_squeeze squeeze;
    enum mobile_head head;
};

/* The net converted from TensorFlow. */
#define MOBILE_TF .eps = 1e-3f, .same = true

/* struct model_family.build; arch is a struct mobile. Images of any size and number of
 * channels. Every block is a checkpoint scope. */
struct tensor *mobile_build(struct builder *b, const void *arch,
                            const struct model_options *o, struct tensor *x);

/* struct model_family.reads */
extern const char *const mobile_reads[];

/* Same as group_matcher of timm's EfficientNet (with MOBILE_HEAD_CONV) and MobileNetV3. */
extern const struct layer_rule mobile_layers_conv[], mobile_layers_pool[];

#endif
