/*
 * Rows of an ImageNet-22k classifier that are the classes of ImageNet-1k, in their order,
 * for the checkpoints of Swin (microsoft/Swin-Transformer: data/map22kto1k.txt).
 */
#ifndef MODELS_IMAGENET22K_H
#define MODELS_IMAGENET22K_H

#include <stdint.h>

enum { IMAGENET_1K = 1000, IMAGENET_22K = 21841 };

extern const int16_t imagenet22k_rows[IMAGENET_1K];

#endif
