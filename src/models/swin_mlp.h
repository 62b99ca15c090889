/*
 * Swin-MLP (Liu et al. 2021, arXiv 2103.14030, appendix A3.3): Swin v1 with a matrix per
 * head instead of attention. Maps must be whole windows in every stage.
 */
#ifndef MODELS_SWIN_MLP_H
#define MODELS_SWIN_MLP_H

#include "models/table.h"

/* A model's arch is a struct swin_options (models/swin_net.h). */
extern const struct model_family swin_mlp_family;

#endif
