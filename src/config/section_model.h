/* The MODEL section of struct config; see config/sections.h. */
#ifndef CONFIG_SECTION_MODEL_H
#define CONFIG_SECTION_MODEL_H

#include "config/fields.h"

/* MODEL.SWIN, MODEL.SWINV2, MODEL.SWIN_MLP and MODEL.SWIN_MOE; not all keys in each. */
struct config_swin {
    int64_t patch_size, in_chans, embed_dim;
    struct int_list depths, num_heads;
    int64_t window_size;
    double mlp_ratio;
    bool qkv_bias, ape, patch_norm;
    struct float_opt qk_scale;
    struct int_list pretrained_window_sizes;
    bool mlp_fc2_bias;
    double init_std;
    struct int_table moe_blocks;
    int64_t num_local_experts, top_value;
    double capacity_factor;
    bool cosine_router, normalize_gate, use_bpr, is_gshard_loss;
    double gate_noise;
    int64_t cosine_router_dim;
    double cosine_router_init_t, moe_drop, aux_loss_weight;
};

struct config_model {
    const char *type, *name, *pretrained, *resume;
    struct str_list pretrained_skip;
    int64_t num_classes, in_chans;
    double drop_rate, drop_path_rate, label_smoothing;
    int init;
    struct {
        int stem, shortcut;
        struct bool_opt zero_init_last;
    } resnet;
    struct config_swin swin, swinv2, swin_moe, swin_mlp;
    struct {
        struct {
            bool enable;
            int64_t patch_size;
        } norm_target;
    } simmim;
};

#endif
