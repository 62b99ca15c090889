/*
 * EfficientNet (Tan and Le 2019, 1905.11946), its Lite variants without squeeze and
 * excitation, and EfficientNetV2 (Tan and Le 2021, 2104.00298) as in timm. Names with tf_
 * have TensorFlow's padding and batch norm, for weights that were trained there.
 */
#ifndef MODELS_EFFICIENTNET_H
#define MODELS_EFFICIENTNET_H

#include "models/mobile.h"

/* MODEL.TYPE efficientnet; a model's arch is a struct mobile. */
extern const struct model_family efficientnet_family;

#endif
