/* The naming schemes of other projects. */
#include "train/schemes.h"

#include <stddef.h>

#define ROWS (const struct scheme_row[])
#define END                                                                              \
    {                                                                                    \
        NULL, NULL                                                                       \
    }

/* Patch merging is at the end of a stage here, and at the start of the next one in
 * timm. */
static const struct scheme_row microsoft_swin[] = {
    {"^layers.6.downsample.", "layers.7.downsample."},
    {"^layers.5.downsample.", "layers.6.downsample."},
    {"^layers.4.downsample.", "layers.5.downsample."},
    {"^layers.3.downsample.", "layers.4.downsample."},
    {"^layers.2.downsample.", "layers.3.downsample."},
    {"^layers.1.downsample.", "layers.2.downsample."},
    {"^layers.0.downsample.", "layers.1.downsample."},
    {"^head.", "head.fc."},
    END,
};

/* Pre-trained by SimMIM, in Microsoft's code and here. */
#define SIMMIM                                                                           \
    {"^decoder.", NULL}, {"^encoder.mask_token$", NULL}, {"^encoder.", ""},              \
    {                                                                                    \
        "rpe_mlp", "cpb_mlp"                                                             \
    }
#define SIMMIM_MARK "encoder.mask_token"

static const struct scheme_row simmim[] = {SIMMIM, END};
static const struct scheme_row simmim_ema[] = {
    {"^encoder.", NULL},     {"^decoder.", NULL},
    {"^ema.decoder.", NULL}, {"^ema.encoder.mask_token$", NULL},
    {"^ema.encoder.", ""},   END};
static const struct scheme_row microsoft_simmim[] = {
    SIMMIM,
    {"^layers.6.downsample.", "layers.7.downsample."},
    {"^layers.5.downsample.", "layers.6.downsample."},
    {"^layers.4.downsample.", "layers.5.downsample."},
    {"^layers.3.downsample.", "layers.4.downsample."},
    {"^layers.2.downsample.", "layers.3.downsample."},
    {"^layers.1.downsample.", "layers.2.downsample."},
    {"^layers.0.downsample.", "layers.1.downsample."},
    END,
};

#define TORCHVISION_SWIN                                                                 \
    {"^features.0.0.", "patch_embed.proj."}, {"^features.0.2.", "patch_embed.norm."},    \
        {"^features.1.#.", "layers.0.blocks.#."},                                        \
        {"^features.2.", "layers.1.downsample."},                                        \
        {"^features.3.#.", "layers.1.blocks.#."},                                        \
        {"^features.4.", "layers.2.downsample."},                                        \
        {"^features.5.#.", "layers.2.blocks.#."},                                        \
        {"^features.6.", "layers.3.downsample."},                                        \
        {"^features.7.#.", "layers.3.blocks.#."}, {".mlp.0.", ".mlp.fc1."},              \
        {".mlp.3.", ".mlp.fc2."},                                                        \
    {                                                                                    \
        "^head.", "head.fc."                                                             \
    }

static const struct scheme_row facebook_convnext[] = {
    {"^downsample_layers.0.", "stem."},
    {"^downsample_layers.#.#.", "stages.#.downsample.#."},
    {"^stages.#.#.", "stages.#.blocks.#."},
    {".dwconv.", ".conv_dw."},
    {".pwconv#.", ".mlp.fc#."},
    {".grn.gamma$", ".mlp.grn.weight"},
    {".grn.beta$", ".mlp.grn.bias"},
    {"^head.", "head.fc."},
    {"^norm.", "head.norm."},
    END,
};

static const struct scheme_row torchvision_convnext[] = {
    {"^features.0.", "stem."},
    {"^features.1.#.", "stages.0.blocks.#."},
    {"^features.2.#.", "stages.1.downsample.#."},
    {"^features.3.#.", "stages.1.blocks.#."},
    {"^features.4.#.", "stages.2.downsample.#."},
    {"^features.5.#.", "stages.2.blocks.#."},
    {"^features.6.#.", "stages.3.downsample.#."},
    {"^features.7.#.", "stages.3.blocks.#."},
    {".layer_scale$", ".gamma"},
    {".block.0.", ".conv_dw."},
    {".block.2.", ".norm."},
    {".block.3.", ".mlp.fc1."},
    {".block.5.", ".mlp.fc2."},
    {"^classifier.0.", "head.norm."},
    {"^classifier.2.", "head.fc."},
    END,
};

static const struct scheme_row mmpretrain_convnext[] = {
    {"^backbone.downsample_layers.0.", "stem."},
    {"^backbone.downsample_layers.#.#.", "stages.#.downsample.#."},
    {"^backbone.stages.#.#.", "stages.#.blocks.#."},
    {".depthwise_conv.", ".conv_dw."},
    {".pointwise_conv#.", ".mlp.fc#."},
    {"^backbone.norm3.", "head.norm."},
    {"^head.fc.", "head.fc."},
    {"^decode_head.", NULL},
    {"^auxiliary_head.", NULL},
    END,
};

static const struct scheme_row deit3[] = {
    {".gamma_#$", ".ls#.gamma"},
    END,
};

static const struct scheme_row dinov2[] = {
    {"^mask_token$", NULL},
    {".mlp.w12.", ".mlp.fc1."},
    {".mlp.w3.", ".mlp.fc2."},
    END,
};

static const struct scheme_row torchvision_vit[] = {
    {"^class_token$", "cls_token"},
    {"^conv_proj.", "patch_embed.proj."},
    {"^encoder.pos_embedding$", "pos_embed"},
    {"^encoder.layers.encoder_layer_#.", "blocks.#."},
    {".ln_#.", ".norm#."},
    {".self_attention.in_proj_", ".attn.qkv."},
    {".self_attention.out_proj.", ".attn.proj."},
    {".mlp.0.", ".mlp.fc1."},
    {".mlp.3.", ".mlp.fc2."},
    {".mlp.linear_#.", ".mlp.fc#."}, /* before torchvision 0.13 */
    {"^encoder.ln.", "norm."},
    {"^heads.head.", "head."},
    END,
};

static const struct scheme_row mmpretrain_vit[] = {
    {"^backbone.patch_embed.projection.", "patch_embed.proj."},
    {"^backbone.layers.#.ln#.", "blocks.#.norm#."},
    {"^backbone.layers.#.ffn.layers.0.0.", "blocks.#.mlp.fc1."},
    {"^backbone.layers.#.ffn.layers.1.", "blocks.#.mlp.fc2."},
    {"^backbone.layers.", "blocks."},
    {"^backbone.ln1.", "norm."},
    {"^backbone.", ""},
    {"^head.layers.head.", "head."},
    {"^head.layers.head_dist.", "head_dist."},
    END,
};

#define OPENMMLAB_RESNET                                                                 \
    {"^backbone.stem.0.conv.", "conv1.0."}, {"^backbone.stem.0.bn.", "conv1.1."},        \
        {"^backbone.stem.1.conv.", "conv1.3."}, {"^backbone.stem.1.bn.", "conv1.4."},    \
        {"^backbone.stem.2.conv.", "conv1.6."}, {"^backbone.stem.2.bn.", "bn1."},        \
        {"^backbone.stem.7.", "bn1."}, /* mmsegmentation's */                            \
        {"^backbone.stem.#.", "conv1.#."}, {"^backbone.", ""},                           \
        {".se_layer.conv#.conv.", ".se.fc#."}, {"^head.fc.", "fc."},                     \
        {"^decode_head.", NULL},                                                         \
    {                                                                                    \
        "^auxiliary_head.", NULL                                                         \
    }

/* V1d has no pooling if the stride is 1. */
static const struct scheme_row mmpretrain_resnet_d[] = {
    {"^backbone.layer1.0.downsample.1.", "backbone.layer1.0.downsample.2."},
    {"^backbone.layer1.0.downsample.0.", "backbone.layer1.0.downsample.1."},
    OPENMMLAB_RESNET,
    END,
};

/* The vision tower of a CLIP model, built by timm, with or without the text tower. */
static const struct scheme_row open_clip_convnext[] = {
    {"^visual.", ""}, {"^trunk.", ""}, {"^head.proj.", "head.fc."}, END};
static const struct scheme_row open_clip_vit[] = {
    {"^visual.", ""}, {"^trunk.", ""}, {"^head.proj.", "head."}, END};

/* Drops the head of self-supervised training. */
static const struct scheme_row facebook_dino[] = {
    {"^backbone.", ""}, {"^head.", NULL}, END};

/* lukemelas/EfficientNet-PyTorch and packages that follow it; the first stage has blocks
 * without an expansion. */
static const struct scheme_row efficientnet_pytorch[] = {
    {"^_conv_stem.", "conv_stem."},
    {"^_bn0.", "bn1."},
    {"^_bn1.", "bn2."},
    {"^_conv_head.", "conv_head."},
    {"^_fc.", "classifier."},
    {"^blocks.0.#._project_conv.", "blocks.0.#.conv_pw."},
    {"^blocks.0.#._bn#.", "blocks.0.#.bn#."},
    {"._project_conv.", ".conv_pwl."},
    {"._expand_conv.", ".conv_pw."},
    {"._depthwise_conv.", ".conv_dw."},
    {"._bn2.", ".bn3."},
    {"._bn1.", ".bn2."},
    {"._bn0.", ".bn1."},
    {"._se_reduce.", ".se.conv_reduce."},
    {"._se_expand.", ".se.conv_expand."},
    END,
};

static const struct scheme_row torchvision_efficientnet[] = {
    {"^features.0.0.", "conv_stem."},
    {"^features.0.1.", "bn1."},
    {"^features.1.#.", "blocks.0.#."},
    {"^features.2.#.", "blocks.1.#."},
    {"^features.3.#.", "blocks.2.#."},
    {"^features.4.#.", "blocks.3.#."},
    {"^features.5.#.", "blocks.4.#."},
    {"^features.6.#.", "blocks.5.#."},
    {"^features.7.#.", "blocks.6.#."},
    {"^features.8.0.", "conv_head."},
    {"^features.8.1.", "bn2."},
    {"^classifier.1.", "classifier."},
    {"^blocks.0.#.block.0.0.", "blocks.0.#.conv_dw."},
    {"^blocks.0.#.block.0.1.", "blocks.0.#.bn1."},
    {"^blocks.0.#.block.2.0.", "blocks.0.#.conv_pw."},
    {"^blocks.0.#.block.2.1.", "blocks.0.#.bn2."},
    {".block.0.0.", ".conv_pw."},
    {".block.0.1.", ".bn1."},
    {".block.1.0.", ".conv_dw."},
    {".block.1.1.", ".bn2."},
    {".block.3.0.", ".conv_pwl."},
    {".block.3.1.", ".bn3."},
    {".block.#.fc1.", ".se.conv_reduce."},
    {".block.#.fc2.", ".se.conv_expand."},
    END,
};

static const struct scheme_row torchvision_mobilenetv2[] = {
    {"^features.0.0.", "conv_stem."},
    {"^features.0.1.", "bn1."},
    {"^features.18.0.", "conv_head."},
    {"^features.18.1.", "bn2."},
    {"^classifier.1.", "classifier."},
    {"^blocks.0.#.conv.0.0.", "blocks.0.#.conv_dw."},
    {"^blocks.0.#.conv.0.1.", "blocks.0.#.bn1."},
    {"^blocks.0.#.conv.1.", "blocks.0.#.conv_pw."},
    {"^blocks.0.#.conv.2.", "blocks.0.#.bn2."},
    {".conv.0.0.", ".conv_pw."},
    {".conv.0.1.", ".bn1."},
    {".conv.1.0.", ".conv_dw."},
    {".conv.1.1.", ".bn2."},
    {".conv.2.", ".conv_pwl."},
    {".conv.3.", ".bn3."},
    END,
};

static const struct scheme_row torchvision_vgg[] = {
    {"^classifier.0.", "pre_logits.fc1."},
    {"^classifier.3.", "pre_logits.fc2."},
    {"^classifier.6.", "head.fc."},
    END,
};

/* The published files, older than the names in torchvision's code. */
static const struct scheme_row torchvision_densenet[] = {
    {".norm.#.", ".norm#."},
    {".conv.#.", ".conv#."},
    END,
};

#define FOREIGN(n, f, m, r) .name = (n), .family = (f), .mark = (m), .row = (r)
#define REFUSED(f, m, why)                                                               \
    {                                                                                    \
        .name = "", .family = (f), .mark = (m), .refuse = (why)                          \
    }
/* Only for models without a tensor that ends so. */
#define REFUSED_UNLESS(f, m, has, why)                                                   \
    {                                                                                    \
        .name = "", .family = (f), .mark = (m), .accepts_suffix = (has), .refuse = (why) \
    }
#define NO_LN_PRE                                                                        \
    "it is CLIP's vision tower, which has a layer norm before its blocks, as only the "  \
    "models vit_*_clip_* have"
#define CLIP_NAMES                                                                       \
    "it is CLIP's vision tower with names of its own; the files of timm's "              \
    "vit_*_clip_* are the same weights"
#define NO_MEAN                                                                          \
    "its classifier reads the mean of all tokens, but here it reads the class token"
#define OTHER_HEADS                                                                      \
    "it is mmsegmentation's, whose decode heads differ from those here; "                \
    "--pretrained-backbone reads its ResNet or ConvNeXt, and bisenetv2 all of its own"
#define NO_MERGING "it is OpenMMLab's Swin, which merges patches in another order"
#define NO_LAYER_SCALE                                                                   \
    "its blocks have a scale for each channel, as those of DINOv2 and DeiT III; those "  \
    "of this model have none"

#define CLASS_TOKEN                                                                      \
    "its names do not tell whether its output is the class token's (timm_pool token), "  \
    "as here, or the mean's (avg, open_clip's default)"

#define SAME_PADDING                                                                     \
    "it was trained with TensorFlow's padding and batch norm, which are those of the "   \
    "models whose names begin with tf_"

#define TORCHVISION_EPS                                                                  \
    "it is torchvision's EfficientNet-B5, B6, or B7, whose batch norms add 0.001 to "    \
    "the "                                                                               \
    "variance; those of the models here with its padding add 0.00001"

const struct scheme schemes[] = {
    {FOREIGN("Microsoft", "swin", "layers.0.downsample.reduction.weight", microsoft_swin),
     .microsoft = true},
    {FOREIGN("Microsoft", "swinv2", "layers.0.downsample.reduction.weight",
             microsoft_swin),
     .microsoft = true},
    {FOREIGN("Microsoft", "swin_mlp", "layers.0.downsample.reduction.weight",
             microsoft_swin),
     .microsoft = true},
    {FOREIGN("Microsoft", "swin_moe", "layers.0.downsample.reduction.weight",
             microsoft_swin),
     .microsoft = true},
#define SIMMIM_SCHEMES(family)                                                           \
    {FOREIGN("SimMIM's EMA weights", family, "ema." SIMMIM_MARK, simmim_ema)},           \
    {                                                                                    \
        FOREIGN("SimMIM", family, SIMMIM_MARK, simmim)                                   \
    }
    SIMMIM_SCHEMES("swin"),
    SIMMIM_SCHEMES("swinv2"),
    SIMMIM_SCHEMES("vit"),
    {FOREIGN("Microsoft's SimMIM", "swin", "encoder.layers.0.downsample.reduction.weight",
             microsoft_simmim)},
    {FOREIGN("Microsoft's SimMIM", "swinv2",
             "encoder.layers.0.downsample.reduction.weight", microsoft_simmim)},
    {FOREIGN("torchvision", "swin", "features.1.0.attn.qkv.weight",
             (ROWS{TORCHVISION_SWIN, END}))},
    {FOREIGN("torchvision", "swinv2", "features.1.0.attn.logit_scale",
             (ROWS{TORCHVISION_SWIN, {".qkv.bias$", ".q_bias,,v_bias"}, END}))},
    REFUSED("swin", "attn.w_msa.qkv.weight", NO_MERGING),
    REFUSED("swinv2", "attn.w_msa.qkv.weight", NO_MERGING),
    {FOREIGN("Facebook", "convnext", "downsample_layers.0.0.weight", facebook_convnext),
     .cut_ones = true},
    {FOREIGN("torchvision", "convnext", "features.1.0.layer_scale", torchvision_convnext),
     .cut_ones = true},
    {FOREIGN("OpenMMLab", "convnext", "backbone.stages.0.0.depthwise_conv.weight",
             mmpretrain_convnext)},
    {FOREIGN("open_clip", "convnext", "visual.trunk.stem.0.weight", open_clip_convnext),
     .only = "visual."},
    {FOREIGN("open_clip", "convnext", "trunk.stem.0.weight", open_clip_convnext)},
    REFUSED("vit", "ln_pre.weight", CLIP_NAMES),
    REFUSED("vit", "pre_layrnorm.weight", CLIP_NAMES), /* transformers' */
    REFUSED_UNLESS("vit", "norm_pre.weight", "norm_pre.weight", NO_LN_PRE),
    {.name = "",
     .family = "vit",
     .mark = "fc_norm.weight",
     .accepts_suffix = "fc_norm.weight",
     .refuses_suffix = "head.weight",
     .refuse = NO_MEAN},
    REFUSED("vit", "backbone.ln2.weight", NO_MEAN), /* OpenMMLab's */
    REFUSED_UNLESS("vit", "0.ls1.gamma", "0.ls1.gamma", NO_LAYER_SCALE),
    REFUSED_UNLESS("vit", "blocks.0.gamma_1", "0.ls1.gamma", NO_LAYER_SCALE),
    REFUSED("vit", "register_tokens",
            "it is DINOv2's file, in which the class token has a position that must be "
            "added to it; timm's vit_*_reg4_dinov2 are the same weights"),
    {FOREIGN("DeiT III", "vit", "blocks.0.gamma_1", deit3)},
    REFUSED("vit", "attn.gamma1.weight", NO_LAYER_SCALE),
    {.name = "",
     .family = "vit",
     .mark = "attn_pool.latent",
     .accepts_suffix = "attn_pool.latent",
     .refuses_suffix = "head.weight",
     .refuse = "it is SigLIP's vision tower, which has no class token and pools by "
               "attention, as the models vit_*_siglip_* do"},
    REFUSED(
        "vit", "head.0.running_mean",
        "its classifier has a batch norm of its own (a linear probe of MAE), and none "
        "here has one"),
    {FOREIGN("torchvision", "vit", "encoder.layers.encoder_layer_0.ln_1.weight",
             torchvision_vit)},
    {FOREIGN("OpenMMLab", "vit", "backbone.patch_embed.projection.weight",
             mmpretrain_vit)},
    {FOREIGN("open_clip", "vit", "visual.trunk.attn_pool.latent", open_clip_vit),
     .only = "visual."},
    {FOREIGN("open_clip", "vit", "trunk.attn_pool.latent", open_clip_vit)},
    {FOREIGN("open_clip", "vit", "visual.trunk.blocks.0.norm1.weight", open_clip_vit),
     .only = "visual.", .note = CLASS_TOKEN},
    {FOREIGN("open_clip", "vit", "trunk.blocks.0.norm1.weight", open_clip_vit),
     .note = CLASS_TOKEN},
    {FOREIGN("MAE", "vit", "decoder_embed.weight",
             (ROWS{{"^mask_token$", NULL}, {"^decoder_", NULL}, END}))},
    {FOREIGN("DINOv2", "vit", "mask_token", dinov2)}, /* after MAE, which has one, too */
    {FOREIGN("DINO", "vit", "head.last_layer.weight_v", facebook_dino)},
    {FOREIGN("DINO", "resnet", "head.last_layer.weight_v", facebook_dino)},
    REFUSED(
        "resnet", "attnpool.positional_embedding",
        "it is CLIP's ResNet, which has three convolutions at its start and attention "
        "at its end; no model here has"),
    {FOREIGN("OpenMMLab", "resnet", "backbone.layer1.0.conv1.weight",
             (ROWS{OPENMMLAB_RESNET, END}))},
    {FOREIGN("OpenMMLab", "resnet", "backbone.layer2.0.downsample.2.weight",
             mmpretrain_resnet_d)},
    {FOREIGN("CIFAR ResNets", "resnet", "linear.weight",
             (ROWS{{"^linear.", "fc."}, {".shortcut.", ".downsample."}, END}))},
    {FOREIGN("EfficientNet-PyTorch", "efficientnet", "_conv_stem.weight",
             efficientnet_pytorch),
     .blocks = "_blocks.", .note = SAME_PADDING},
    REFUSED("efficientnet", "features.1.2.block.1.fc1.weight", TORCHVISION_EPS),
    {FOREIGN("torchvision", "efficientnet", "features.1.0.block.1.fc1.weight",
             torchvision_efficientnet)},
    {FOREIGN("torchvision", "mobilenetv2", "features.1.conv.0.0.weight",
             torchvision_mobilenetv2),
     .blocks = "features.", .first_block = 1},
    {FOREIGN("torchvision", "densenet", "features.denseblock1.denselayer1.norm.1.weight",
             torchvision_densenet)},
    {FOREIGN("torchvision", "vgg", "classifier.6.weight", torchvision_vgg)},
    REFUSED("deeplab", "decode_head.conv_seg.weight", OTHER_HEADS),
    REFUSED("pyramid", "decode_head.conv_seg.weight", OTHER_HEADS),
    REFUSED("unet", "decode_head.conv_seg.weight", OTHER_HEADS),
    {.name = NULL},
};
