/*
 * MobileNetV4 (Qin et al. 2024, 2404.10518) as in timm, the models without attention:
 * universal inverted bottlenecks, and a last convolution with a norm after the pooling.
 */
#ifndef MODELS_MOBILENETV4_H
#define MODELS_MOBILENETV4_H

#include "models/mobile.h"

/* MODEL.TYPE mobilenetv4; a model's arch is a struct mobile. */
extern const struct model_family mobilenetv4_family;

#endif
