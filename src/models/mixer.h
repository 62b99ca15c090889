/*
 * Nets of MLPs alone, as in timm's mlp_mixer.py: tokens of patches, blocks in which one
 * linear layer or MLP mixes the tokens and another one the channels, a norm, and the mean
 * of the tokens.
 *
 *   MIXER_MLP     MLP-Mixer (Tolstikhin et al. 2021, arXiv 2105.01601)
 *   MIXER_GLU     gMixer, timm's: both MLPs are gated, a silu(b) of two halves
 *   MIXER_AFFINE  ResMLP (Touvron et al. 2021, arXiv 2105.03404): a scale and a shift
 *                 instead of norms, layer scale, one linear layer of the tokens
 *   MIXER_GATE    gMLP (Liu et al. 2021, arXiv 2105.08050): one MLP per block, gated by a
 *                 linear layer of the tokens
 *
 * The number of tokens is a shape of weights, so weights are for one image size. Names,
 * order, and initial values are timm's, except that patches start untruncated and that
 * gMixer's gates start as its other layers do. MODEL.DROP_PATH_RATE is the rate of every
 * block; MODEL.DROP_RATE applies to the dropout before the classifier. Every block is a
 * checkpoint scope.
 */
#ifndef MODELS_MIXER_H
#define MODELS_MIXER_H

#include "models/table.h"

enum mixer_kind { MIXER_MLP, MIXER_GLU, MIXER_AFFINE, MIXER_GATE };

/* A model's arch. */
struct mixer {
    int patch, width, depth;
    enum mixer_kind kind;
    float layer_scale; /* its initial value */
};

extern const struct model_family mixer_family;

#endif
