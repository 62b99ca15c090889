#include "models/swin_mlp.h"

#include "models/rows.h"
#include "models/swin_net.h"
#include "ops/dropout.h"
#include "ops/window_mix.h"

static struct tensor *spatial_mlp(struct swin *s, struct tensor *x,
                                  const struct swin_block *block)
{
    int shift = block->shift_h > block->shift_w ? block->shift_h : block->shift_w;

    x = window_mix(s->b, x, swin_name(s, block->name, "spatial_mlp"),
                   .heads = block->heads, .window_h = block->window_h,
                   .window_w = block->window_w, .shift = shift);
    return dropout(s->b, x, swin_name(s, block->name, "spatial_mlp.drop"),
                   .rate = (float)s->common->drop_rate);
}

static const struct swin_kind kind = {
    .mix = spatial_mlp, .whole = true, .prefix = "MODEL.SWIN_MLP"};

static struct tensor *swin_mlp_build(struct builder *b, const void *arch,
                                     const struct model_options *o, struct tensor *x)
{
    return swin_net(b, &kind, arch, o, x);
}

static const char *const *check(const struct model *m, const struct model_options *o,
                                int height, int width, struct strbuf *why)
{
    return swin_check(&kind, m, o, height, width, why);
}

static const struct option options[] = {SWIN_OPTIONS("MODEL.SWIN_MLP"), {0}};

/* clang-format off */
#define MLP .family = &swin_mlp_family, SWIN_ARCH

static const struct model models[] = {
    {ROW(swin_mlp_tiny_c24_patch4_window8_256), MLP(96, (2, 2, 6, 2), (4, 8, 16, 32), 8), IMAGENET(256, 0.875), .classes = 1000,
     RECIPE "swinmlp/swin_mlp_tiny_c24_patch4_window8_256.yaml", TAGS ""},
    {ROW(swin_mlp_tiny_c12_patch4_window8_256), MLP(96, (2, 2, 6, 2), (8, 16, 32, 64), 8), IMAGENET(256, 0.875), .classes = 1000,
     RECIPE "swinmlp/swin_mlp_tiny_c12_patch4_window8_256.yaml", TAGS ""},
    {ROW(swin_mlp_tiny_c6_patch4_window8_256), MLP(96, (2, 2, 6, 2), (16, 32, 64, 128), 8), IMAGENET(256, 0.875), .classes = 1000,
     RECIPE "swinmlp/swin_mlp_tiny_c6_patch4_window8_256.yaml", TAGS ""},
    {ROW(swin_mlp_base_patch4_window7_224), MLP(SWIN_B, 7), IMAGENET(224, 0.875), .classes = 1000,
     RECIPE "swinmlp/swin_mlp_base_patch4_window7_224.yaml", TAGS ""},
    {.name = NULL},
};
/* clang-format on */

static const char *const custom_keys[] = {SWIN_CUSTOM_KEYS("MODEL.SWIN_MLP")};
static const struct model custom[] = {
    {.name = "swin_mlp", MLP(SWIN_T, 7), IMAGENET(224, 0.875), .classes = 1000, TAGS ""},
    {.name = NULL},
};

const struct model_family swin_mlp_family = {
    .type = "swin_mlp",
    .layer_norm = true,
    .task = MODEL_CLASSIFY,
    .models = models,
    .reads = swin_reads,
    .options = options,
    .options_size = sizeof(struct swin_options),
    .arch_is_options = true,
    .custom_keys = custom_keys,
    .custom = custom,
    .no_decay = swin_no_decay,
    .layers = swin_layers,
    .cam = ".norm1",
    .grids = swin_grids,
    .computed = swin_computed,
    .build = swin_mlp_build,
    .check = check,
};
