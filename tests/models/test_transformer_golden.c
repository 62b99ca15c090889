/*
 * Swin v1, v2, and MLP, ViT, DeiT, BEiT, ConvNeXt V1 and V2, and MLP-Mixer against PyTorch; weights and input are an
 * integer hash that scripts/golden/model_transformer.py computes, too.
 */
#include <stdlib.h>

#include "models/beit.h"
#include "models/convnext.h"
#include "models/mixer.h"
#include "models/swin.h"
#include "models/swin_mlp.h"
#include "models/swin_moe.h"
#include "models/swin_net.h"
#include "models/swinv2.h"
#include "models/vit.h"
#include "tests/models/golden_train.h"
#include "tests/test.h"

#define LIST(...)                                                                        \
    {                                                                                    \
        (const int64_t[]){__VA_ARGS__},                                                  \
            sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)                     \
    }
#define SWIN(...)                                                                        \
    .arch = &(const struct swin_options)                                                 \
    {                                                                                    \
        .patch_size = 2, .in_chans = 3, .embed_dim = 16, __VA_ARGS__                     \
    }
#define WHOLE                                                                            \
    .depths = LIST(2, 2, 2, 1), .num_heads = LIST(2, 2, 4, 8), .window_size = 4,         \
    .mlp_ratio = 4, .qkv_bias = true, .patch_norm = true
#define KEYS_                                                                            \
    .depths = LIST(2, 1), .num_heads = LIST(2, 4), .window_size = 3, .mlp_ratio = 2.5,   \
    .ape = true
#define VIT      .patch = 4, .width = 24, .depth = 2, .heads = 3
#define MIXER    4, 24, 2
#define CONVNEXT .depth = {1, 1, 2, 1}, .width = {8, 16, 24, 32}

static const int64_t numbers[] = {0, 1}, none[] = {-1};
static const struct int_list blocks_one[] = {{numbers + 1, 1}, {numbers, 2}},
                             blocks_cosine[] = {{none, 1}, {numbers + 1, 1}},
                             blocks_two[] = {{numbers, 1}, {numbers + 1, 1}};
#define MOE(...)                                                                         \
    .arch = &(const struct swin_moe_options)                                             \
    {                                                                                    \
        .swin = {.patch_size = 2,                                                        \
                 .in_chans = 3,                                                          \
                 .embed_dim = 16,                                                        \
                 .depths = LIST(2, 2),                                                   \
                 .num_heads = LIST(2, 4),                                                \
                 .window_size = 4,                                                       \
                 .mlp_ratio = 4,                                                         \
                 .qkv_bias = true,                                                       \
                 .patch_norm = true},                                                    \
        .mlp_fc2_bias = true, .init_std = 0.02, __VA_ARGS__                              \
    }

static struct model nets[] = {
    {.name = "swin", .family = &swin_family, SWIN(WHOLE)},
    {.name = "swinv2",
     .family = &swinv2_family,
     SWIN(WHOLE, .pretrained_window_sizes = LIST(3, 0, 6, 2))},
    {.name = "swin_keys", .family = &swin_family, SWIN(KEYS_, .qk_scale = {0.5, true})},
    {.name = "swinv2_keys",
     .family = &swinv2_family,
     SWIN(KEYS_, .pretrained_window_sizes = LIST(2, 4))},
    {.name = "swin_mlp",
     .family = &swin_mlp_family,
     SWIN(.depths = LIST(2, 2, 1), .num_heads = LIST(2, 4, 4), .window_size = 4,
          .mlp_ratio = 4, .patch_norm = true)},
    {.name = "swin_moe",
     .family = &swin_moe_family,
     MOE(.moe_blocks = {blocks_one, 2}, .num_experts = 4, .top_value = 1,
         .capacity_factor = 1, .use_bpr = true, .gate_noise = 1, .aux_loss_weight = 0.5)},
    {.name = "swin_moe_cosine",
     .family = &swin_moe_family,
     MOE(.moe_blocks = {blocks_cosine, 2}, .num_experts = 3, .top_value = 2,
         .capacity_factor = 0.8, .is_gshard_loss = true, .aux_loss_weight = 0.25,
         .cosine_router = true, .cosine_router_dim = 6, .cosine_router_init_t = 0.5,
         .normalize_gate = true, .swin.pretrained_window_sizes = LIST(3, 6))},
    {.name = "swin_moe_two",
     .family = &swin_moe_family,
     MOE(.moe_blocks = {blocks_two, 2}, .num_experts = 5, .top_value = 2,
         .capacity_factor = 0.6, .use_bpr = true, .gate_noise = 0.5,
         .aux_loss_weight = 1)},
    {.name = "vit", .family = &vit_family, .arch = &(const struct vit){VIT}},
    {.name = "deit",
     .family = &vit_family,
     .arch = &(const struct vit){VIT, .distilled = true}},
    {.name = "vit_reg_gap",
     .family = &vit_family,
     .arch = &(const struct vit){VIT, .hidden = 72, .no_class = true, .registers = 2,
                                 .patch_position = true, .mean = true,
                                 .norm = VIT_NORM_POOLED, .no_qkv_bias = true,
                                 .layer_scale = 0.1f, .act = "gelu_tanh"}},
    {.name = "vit_swiglu",
     .family = &vit_family,
     .arch =
         &(const struct vit){VIT, .registers = 2, .patch_position = true,
                             .norm = VIT_NORM_NONE, .layer_scale = 0.1f, .swiglu = true}},
    {.name = "vit_clip",
     .family = &vit_family,
     .arch = &(const struct vit){VIT, .registers = 1, .mean = true, .pre_norm = true,
                                 .eps = 1e-5f, .act = "quick_gelu"}},
    {.name = "vit_siglip",
     .family = &vit_family,
     .arch = &(const struct vit){VIT, .no_class = true, .attends = true, .registers = 2,
                                 .patch_position = true, .layer_scale = 0.1f,
                                 .act = "gelu_tanh"}},
    {.name = "beit",
     .family = &beit_family,
     .arch = &(const struct beit){4, 24, 2, 3, 0.1f}},
    {.name = "mixer",
     .family = &mixer_family,
     .arch = &(const struct mixer){MIXER, MIXER_MLP, 0}},
    {.name = "gmixer",
     .family = &mixer_family,
     .arch = &(const struct mixer){MIXER, MIXER_GLU, 0}},
    {.name = "resmlp",
     .family = &mixer_family,
     .arch = &(const struct mixer){MIXER, MIXER_AFFINE, 0.1f}},
    {.name = "gmlp",
     .family = &mixer_family,
     .arch = &(const struct mixer){MIXER, MIXER_GATE, 0}},
    {.name = "convnext",
     .family = &convnext_family,
     .arch = &(const struct convnext){CONVNEXT}},
    {.name = "convnextv2",
     .family = &convnext_family,
     .arch =
         &(const struct convnext){CONVNEXT, .grn = true, .conv_mlp = true,
                                  .stem = CONVNEXT_TIERED, .norm_first = true,
                                  .kernel = {7, 5, 5, 3}, .act = "silu", .eps = 1e-5f}},
    {.name = "convnextv2_mlp",
     .family = &convnext_family,
     .arch = &(const struct convnext){CONVNEXT, .grn = true, .hidden = 20}},
};

static void test_net(void **state)
{
    golden_train(*state, GOLDEN_ADAMW, true);
}

int main(void)
{
    enum { N = sizeof(nets) / sizeof(nets[0]) };
    struct CMUnitTest tests[N];

    for (int i = 0; i < N; i++)
        tests[i] = (struct CMUnitTest){
            .name = nets[i].name, .test_func = test_net, .initial_state = &nets[i]};
    cmocka_set_test_filter(getenv("TEST_FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
