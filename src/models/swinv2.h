/*
 * Swin v2 (Liu et al. 2021, arXiv 2111.09883) as in timm: norms after the branches,
 * cosine attention, and a position bias that a small MLP computes from relative
 * coordinates in the window of pretraining. Maps that are not whole windows, or have odd
 * sides, are padded with zeros.
 */
#ifndef MODELS_SWINV2_H
#define MODELS_SWINV2_H

#include "models/table.h"

/* A model's arch is a struct swin_options (models/swin_net.h). */
extern const struct model_family swinv2_family;

#endif
