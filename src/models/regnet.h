/*
 * RegNetX and RegNetY (Radosavovic et al. 2020, 2003.13678) as in timm: four stages of
 * bottlenecks with grouped convolutions, whose widths follow from a line. Y has
 * squeeze-and-excitation. Parameters have timm's names and are created in the order of
 * timm's state dict.
 */
#ifndef MODELS_REGNET_H
#define MODELS_REGNET_H

#include "models/table.h"

enum { REGNET_STAGES = 4 };

/* The parameters of the paper, section 3.3. */
struct regnet {
    int depth;            /* blocks */
    int first;            /* w0: width of the first block, a multiple of 8 */
    double slope, factor; /* wa, wm */
    int group;            /* channels of a group */
    bool squeeze_excite;
};

/* Blocks and widths of the stages. */
struct regnet_stages {
    int depth[REGNET_STAGES], width[REGNET_STAGES], group[REGNET_STAGES];
};

struct regnet_stages regnet_stages_of(const struct regnet *r);

/* Images of any size and number of channels. Every residual block is a checkpoint scope. */
extern const struct model_family regnet_family;

#endif
