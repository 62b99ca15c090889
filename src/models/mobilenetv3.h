/*
 * MobileNetV3 (Howard et al. 2019, 1905.02244) as in timm: hard swish, squeeze and
 * excitation of the expanded width, and a last convolution after the pooling. Names with
 * tf_ have TensorFlow's padding and batch norm, for weights that were trained there.
 */
#ifndef MODELS_MOBILENETV3_H
#define MODELS_MOBILENETV3_H

#include "models/mobile.h"

/* MODEL.TYPE mobilenetv3; a model's arch is a struct mobile. */
extern const struct model_family mobilenetv3_family;

#endif
