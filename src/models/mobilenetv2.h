/*
 * MobileNetV2 (Sandler et al. 2018, 1801.04381) as in timm: inverted residuals with ReLU6.
 */
#ifndef MODELS_MOBILENETV2_H
#define MODELS_MOBILENETV2_H

#include "models/mobile.h"

/* MODEL.TYPE mobilenetv2; a model's arch is a struct mobile. */
extern const struct model_family mobilenetv2_family;

#endif
