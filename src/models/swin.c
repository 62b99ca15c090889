#include "models/swin.h"

#include "models/rows.h"
#include "models/swin_net.h"
#include "ops/dropout.h"
#include "ops/linear.h"
#include "ops/window_attention.h"

struct tensor *swin_attention(struct swin *s, struct tensor *x,
                              const struct swin_block *block, struct tensor *table)
{
    int64_t c = x->dim[3];
    const char *name = swin_name(s, block->name, "attn");

    x = linear(s->b, x, swin_name(s, name, "qkv"), .out = (int)(3 * c),
               .bias = s->o->qkv_bias, .init = s->init, .bias_init = INIT_RULE_ZERO);
    x = window_attention(s->b, x, name, .heads = block->heads,
                         .window_h = block->window_h, .window_w = block->window_w,
                         .shift_h = block->shift_h, .shift_w = block->shift_w,
                         .scale = (float)s->o->qk_scale.value, .table = table,
                         .pad = block->padded ? swin_bias_of(x) : NULL);
    x = linear(s->b, x, swin_name(s, name, "proj"), .out = (int)c, .bias = 1,
               .init = s->init, .bias_init = INIT_RULE_ZERO);
    return dropout(s->b, x, swin_name(s, name, "proj_drop"),
                   .rate = (float)s->common->drop_rate);
}

static struct tensor *attention(struct swin *s, struct tensor *x,
                                const struct swin_block *block)
{
    int64_t dim[] = {(2 * block->window_h - 1) * (2 * block->window_w - 1), block->heads};
    struct tensor *table = graph_param(s->b, swin_name(s, block->name, "attn"),
                                       "relative_position_bias_table", LAYOUT_PLAIN, 2,
                                       dim, (struct init){INIT_NORMAL, 0.02f});

    return swin_attention(s, x, block, table);
}

static const struct swin_kind kind = {.mix = attention, .prefix = "MODEL.SWIN"};

static struct tensor *swin_build(struct builder *b, const void *arch,
                                 const struct model_options *o, struct tensor *x)
{
    return swin_net(b, &kind, arch, o, x);
}

static const char *const *check(const struct model *m, const struct model_options *o,
                                int height, int width, struct strbuf *why)
{
    return swin_check(&kind, m, o, height, width, why);
}

static const struct option options[] = {
    SWIN_OPTIONS("MODEL.SWIN"),
    OPTION("MODEL.SWIN.QKV_BIAS", struct swin_options, qkv_bias),
    OPTION("MODEL.SWIN.QK_SCALE", struct swin_options, qk_scale),
    {0},
};

/* clang-format off */
#define V1 .family = &swin_family, SWIN_ARCH

static const struct model models[] = {
    {ROW(swin_tiny_patch4_window7_224), V1(SWIN_T, 7), IMAGENET(224, 0.9), .classes = 1000,
     RECIPE "swin.yaml", TAGS "ms_in1k ms_in22k_ft_in1k ms_in22k"},
    {ROW(swin_small_patch4_window7_224), V1(SWIN_S, 7), IMAGENET(224, 0.9), .classes = 1000,
     RECIPE "swin/swin_small_patch4_window7_224.yaml", TAGS "ms_in22k_ft_in1k ms_in1k ms_in22k"},
    {ROW(swin_base_patch4_window7_224), V1(SWIN_B, 7), IMAGENET(224, 0.9), .classes = 1000,
     RECIPE "swin/swin_base_patch4_window7_224.yaml", TAGS "ms_in22k_ft_in1k ms_in1k ms_in22k"},
    {ROW(swin_base_patch4_window12_384), V1(SWIN_B, 12), IMAGENET(384, 1), .classes = 1000,
     RECIPE "swin/swin_base_patch4_window12_384_finetune.yaml", TAGS "ms_in22k_ft_in1k ms_in1k ms_in22k"},
    {ROW(swin_large_patch4_window7_224), V1(SWIN_L, 7), IMAGENET(224, 0.9), .classes = 1000,
     RECIPE "swin/swin_large_patch4_window7_224_22kto1k_finetune.yaml", TAGS "ms_in22k_ft_in1k ms_in22k"},
    {ROW(swin_large_patch4_window12_384), V1(SWIN_L, 12), IMAGENET(384, 1), .classes = 1000,
     RECIPE "swin/swin_large_patch4_window12_384_22kto1k_finetune.yaml", TAGS "ms_in22k_ft_in1k ms_in22k"},
    {.name = NULL},
};
/* clang-format on */

static const char *const custom_keys[] = {SWIN_CUSTOM_KEYS("MODEL.SWIN")};
#define CUSTOM V1(SWIN_T, 7), IMAGENET(224, 0.875), .classes = 1000, TAGS ""
static const struct model custom[] = {
    {.name = "swin", CUSTOM},
    {.name = "simmim_pretrain", CUSTOM, .task = "simmim"},
    {.name = "simmim_finetune", CUSTOM, .layers = swin_layers_simmim},
    {.name = NULL},
};

const struct model_family swin_family = {
    .type = "swin",
    .layer_norm = true,
    .task = MODEL_CLASSIFY,
    .models = models,
    .reads = swin_reads,
    .options = options,
    .options_size = sizeof(struct swin_options),
    .arch_is_options = true,
    .custom_keys = custom_keys,
    .custom = custom,
    .masks = true,
    .no_decay = swin_no_decay,
    .layers = swin_layers,
    .cam = ".norm1",
    .grids = swin_grids,
    .imagenet22k = true,
    .computed = swin_computed,
    .build = swin_build,
    .check = check,
};
