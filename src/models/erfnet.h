/*
 * ERFNet (Romera et al. 2017, IEEE T-ITS 19(1), "ERFNet: Efficient Residual Factorized
 * ConvNet for Real-time Semantic Segmentation"): an encoder of three halvings with
 * factorised, partly dilated residual blocks, and a decoder of transposed convolutions.
 * Batch norm has eps 1e-3; convolutions start as PyTorch's do and all have a bias.
 *
 * Parameters have the published names and are made in the order of the published state
 * dict. The full net keeps "encoder.output_conv", the head of the encoder stage, without
 * using it, so that checkpoints of both stages and of others fit.
 */
#ifndef MODELS_ERFNET_H
#define MODELS_ERFNET_H

#include "models/table.h"

/* What a row of its models says of the net. */
struct erfnet {
    bool encoder_only; /* logits at an eighth of the size, by encoder.output_conv */
    float drop[2];     /* dropout2d of the encoder's blocks with 64 and 128 channels */
};

/* Sides of the images are multiples of 8. Every residual block is a checkpoint scope. */
extern const struct model_family erfnet_family;

#endif
