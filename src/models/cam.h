/*
 * The layer whose output Grad-CAM explains a class by (Selvaraju et al. 2017, 1610.02391):
 * the last stage of a net of convolutions; of a transformer the first norm of its last
 * block, as pytorch-grad-cam's examples for ViT and Swin. After that norm, the patch tokens
 * of a ViT still reach the class token; after the block, the classifier reads only the
 * class token, and the gradient of all others is 0.
 */
#ifndef MODELS_CAM_H
#define MODELS_CAM_H

#include "models/stages.h"
#include "models/table.h"

/* Returns the output of stage `index`, or for -1 that of the layer named above, with its
 * size. `stages` are those of the built graph. */
struct model_stage cam_stage(const struct graph *g, const struct model_family *f,
                             const struct model_stages *stages, int index);

#endif
