/*
 * BiSeNet V2 (Yu et al. 2020, arXiv 2004.02147) with mmsegmentation's names, which adds
 * batch norms and ReLUs that the paper's figures leave out: a detail branch of few wide
 * layers at 1/8 of the image, a semantic branch of many narrow ones down to 1/32, and the
 * guided aggregation of both. In training, each stage of the semantic branch has an
 * auxiliary head (section 4.3). Images of any size.
 */
#ifndef MODELS_BISENET_H
#define MODELS_BISENET_H

#include "models/table.h"

struct bisenet {
    float drop; /* rate of the dropout of channels before each head's last convolution */
};

extern const struct model_family bisenet_family;

#endif
