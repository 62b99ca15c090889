/*
 * Swin v1 (Liu et al. 2021, arXiv 2103.14030) as timm builds it: attention within windows
 * that every second block shifts, a bias for each relative position. Maps that are not
 * whole windows, or of odd sides, are padded with zeros.
 */
#ifndef MODELS_SWIN_H
#define MODELS_SWIN_H

#include "models/table.h"

/* A model's arch is a struct swin_options (models/swin_net.h). */
extern const struct model_family swin_family;

#endif
