/*
 * GhostNet (Han et al. 2019, 1911.11907) and GhostNetV2 (Tang et al. 2022, 2211.12905) as in
 * timm: half of a layer's channels are computed from the other half by a depthwise
 * convolution. In V2 a gate from a map of half the size scales them. Parameters have timm's
 * names and are created in the order of timm's state dict.
 */
#ifndef MODELS_GHOSTNET_H
#define MODELS_GHOSTNET_H

#include "models/table.h"

/* A bottleneck; its numbers of channels are scaled by the net's width. */
struct ghost_block {
    int kernel; /* 0 ends the table */
    int inside, out, stride;
    bool squeeze;    /* squeeze and excitation */
    bool same_stage; /* continues the stage of the row before */
};

/* Makes a row: kernel, channels inside and after the block, stride. */
#define GHOST(k, i, o, s) .kernel = (k), .inside = (i), .out = (o), .stride = (s)

struct ghostnet {
    const struct ghost_block *blocks;
    double width; /* 0: 1 */
    bool v2;      /* all blocks but the first two have gates */
};

/* Images of any number of channels; of any size, in V2 such that the last map has 2 x 2
 * pixels. Every block is a checkpoint scope. */
extern const struct model_family ghostnet_family;

#endif
