/*
 * VGG (Simonyan and Zisserman 2014, 1409.1556), configurations A, B, D, and E, with and
 * without batch norm, as in timm: the first linear layers of the paper are convolutions, so
 * larger images give several logits, of which the mean counts, and smaller last maps are
 * enlarged to 7 x 7. Parameters have timm's names and are created in the order of timm's
 * state dict.
 */
#ifndef MODELS_VGG_H
#define MODELS_VGG_H

#include "models/table.h"

enum { VGG_STAGES = 5 };

struct vgg {
    bool norm;
    int depth[VGG_STAGES]; /* convolutions before each pooling; 0 ends the stages */
    int width;  /* channels of the first stage; others have up to 8 times as many */
    int hidden; /* channels of the two layers before the classifier */
};

/* Images of at least 2^stages pixels a side and any number of channels. MODEL.SKIP_STRIDES
 * leaves out the first poolings. Every stage is a checkpoint scope. */
extern const struct model_family vgg_family;

#endif
