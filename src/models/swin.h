/*
 * Swin v1 (Liu et al. 2021, arXiv 2103.14030) as in timm: attention within windows that
 * are shifted in every second block, with a relative position bias. Maps that are not
 * whole windows, or have odd sides, are padded with zeros.
 */
#ifndef MODELS_SWIN_H
#define MODELS_SWIN_H

#include "models/table.h"

/* A model's arch is a struct swin_options (models/swin_net.h). */
extern const struct model_family swin_family;

#endif
