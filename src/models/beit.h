/*
 * BEiT and BEiT v2 as in timm's beit.py (Bao et al. 2021, arXiv 2106.08254; Peng et al. 2022,
 * arXiv 2208.06366): a vision transformer whose attention adds a learned bias for each offset
 * between two patches, a table per block, instead of a position embedding. Keys have no bias.
 * A layer norm of the mean of the patches comes before the classifier.
 *
 * A table has a row for each offset, then three more: of the class token to patches, of
 * patches to the class token, and of the class token to itself. Parameters have timm's names
 * and are created in the order of timm's state dict. Every block is a checkpoint scope.
 */
#ifndef MODELS_BEIT_H
#define MODELS_BEIT_H

#include "models/table.h"

/* A model's arch. */
struct beit {
    int patch, width, depth, heads;
    float layer_scale; /* initial factor */
};

extern const struct model_family beit_family;

#endif
