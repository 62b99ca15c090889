/*
 * U-Net (Ronneberger et al. 2015, 1505.04597) and U-Net++ (Zhou et al. 2018, 1807.10165) on
 * the stages of a classifier, as in segmentation-models-pytorch: five blocks, each of which
 * enlarges its input to the size of the next larger map, concatenates both, and has two 3x3
 * convolutions with batch norm. Parameters have its names.
 */
#ifndef MODELS_UNET_H
#define MODELS_UNET_H

#include "models/table.h"

enum { UNET_BLOCKS = 5 };

struct unet {
    bool nested; /* U-Net++ */
};

/* Images of any size; U-Net++: multiples of 32. */
extern const struct model_family unet_family;

#endif
