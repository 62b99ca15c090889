/*
 * The vision transformer as in timm (Dosovitskiy et al. 2020, arXiv 2010.11929): patches,
 * a class token, a position embedding, blocks of attention among all tokens, a layer
 * norm, and a classifier of the class token. Variants of it:
 *
 *   DeiT        the same net; its distilled variant has a second token with its own
 *               classifier, and the logits are the mean of both (Touvron et al. 2020,
 *               arXiv 2012.12877)
 *   DeiT III    layer scale, and no position of the class token (2204.07118)
 *   DINOv2      layer scale and registers (Darcet et al. 2023, arXiv 2309.16588)
 *   CLIP        a layer norm before the blocks, patches without a bias, and eps 1e-5
 *   _gap        no class token: the classifier reads the mean of the patches
 *   SigLIP      no class token: a learned query attends to the patches (Zhai et al. 2021,
 *               arXiv 2106.04560, appendix C), and an MLP follows
 *
 * Parameters have timm's names and are created in the order of timm's state dict. Unlike
 * timm's, linear layers of SwiGLU start as all others do, and the query untruncated. MODEL.DROP_RATE applies to the
 * dropout before the classifier. Every block is a checkpoint scope.
 */
#ifndef MODELS_VIT_H
#define MODELS_VIT_H

#include "models/table.h"

/* The last layer norm. */
enum vit_norm {
    VIT_NORM_TOKENS, /* "norm", of all tokens */
    VIT_NORM_POOLED, /* "fc_norm", of what the classifier reads */
    VIT_NORM_NONE
};

/* A model's arch. */
struct vit {
    int patch, width, depth, heads;
    int hidden;          /* width of the MLP's hidden layer; 0: 4 * width */
    bool distilled;      /* has a second token, for a teacher */
    bool no_class;       /* has no class token */
    int registers;       /* further tokens, which nothing reads after the blocks */
    bool patch_position; /* the position embedding is of the patches alone */
    bool mean;           /* classifies the mean of the patches, not the class token */
    bool attends;        /* classifies what a query reads from the patches */
    bool pre_norm;       /* has a norm before the blocks; patches have no bias */
    bool no_qkv_bias;
    enum vit_norm norm;
    float layer_scale; /* initial factor; 0: none */
    float eps;         /* of layer norms; 0: 1e-6 */
    /* Activation of the MLP: a name in ops/activation.h, or quick_gelu, x sigmoid(1.702 x),
     * from OpenAI's CLIP. NULL means gelu. */
    const char *act;
    bool swiglu; /* silu(a) b of the two halves of the hidden layer (2002.05202) */
};

extern const struct model_family vit_family;
extern const struct model vit_models[];

#endif
