/*
 * The vision transformer as in timm (Dosovitskiy et al. 2020, arXiv 2010.11929): patches,
 * a class token, a position embedding, blocks of attention among all tokens, a layer
 * norm, and a classifier of the class token. DeiT (Touvron et al. 2020, arXiv 2012.12877)
 * is the same net; its distilled variant has a second token with its own classifier, and
 * the logits are the mean of both. Layer norms have eps 1e-6.
 *
 * Parameters have timm's names and are created in the order of timm's state dict.
 * MODEL.DROP_RATE applies to the dropout before the classifier. Every block is a
 * checkpoint scope.
 */
#ifndef MODELS_VIT_H
#define MODELS_VIT_H

#include "models/table.h"

/* A model's arch. The hidden width of the MLP is four times `width`. */
struct vit {
    int patch, width, depth, heads;
    bool distilled;
};

extern const struct model_family vit_family;

#endif
