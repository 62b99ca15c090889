/*
 * DenseNet-BC (Huang et al. 2016, 1608.06993) as in timm: every layer of a block reads the
 * concatenated maps of all layers before it. Parameters have timm's names and are created in
 * the order of timm's state dict.
 */
#ifndef MODELS_DENSENET_H
#define MODELS_DENSENET_H

#include "models/table.h"

enum { DENSENET_BLOCKS = 4 };

struct densenet {
    int growth;                 /* channels that each layer adds */
    int depth[DENSENET_BLOCKS]; /* layers of each block */
    bool deep;                  /* the stem has three convolutions of 3x3 */
    bool blur;                  /* its pooling is smoothed (Zhang 2019, 1904.11486) */
};

/* Images of any size from 32 x 32 pixels and any number of channels. MODEL.SKIP_STRIDES
 * leaves out the stem's stride, its pooling, and the first poolings between blocks. Every
 * layer is a checkpoint scope: recomputed, it stores only what it adds. */
extern const struct model_family densenet_family;

#endif
