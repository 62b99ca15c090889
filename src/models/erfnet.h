/*
 * ERFNet (Romera et al. 2017, IEEE T-ITS 19(1), "ERFNet: Efficient Residual Factorized
 * ConvNet for Real-time Semantic Segmentation"): an encoder that halves the size three
 * times with factorized, partly dilated residual blocks, and a decoder of transposed
 * convolutions. Batch norm has eps 1e-3; convolutions are initialized as in PyTorch and
 * all have a bias.
 *
 * Parameters have the published names and are created in the order of the published state
 * dict. The full net keeps "encoder.output_conv", the unused head of the encoder stage,
 * so that checkpoints of both stages and of other programs fit.
 */
#ifndef MODELS_ERFNET_H
#define MODELS_ERFNET_H

#include "models/table.h"

/* The parts of a net that differ by model. */
struct erfnet {
    bool encoder_only; /* logits at 1/8 of the size, by encoder.output_conv */
    float drop[2];     /* dropout2d of the encoder's blocks with 64 and 128 channels */
};

/* Sides of images are multiples of 8. Every residual block is a checkpoint scope. */
extern const struct model_family erfnet_family;

#endif
