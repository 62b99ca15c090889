#include "models/swinv2.h"

#include <math.h>

#include "models/rows.h"
#include "models/swin_net.h"
#include "ops/cpb_table.h"
#include "ops/dropout.h"
#include "ops/linear.h"
#include "ops/qkv_bias.h"
#include "ops/window_attention.h"

/* Returns [q_bias | 0 | v_bias], or NULL without a bias. */
static struct tensor *bias_of(struct swin *s, const char *name, int64_t c)
{
    const struct init zero = {INIT_ZERO, 0};
    struct tensor *q, *v;

    if (!s->o->qkv_bias)
        return NULL;
    q = graph_param(s->b, name, "q_bias", LAYOUT_PLAIN, 1, &c, zero);
    v = graph_param(s->b, name, "v_bias", LAYOUT_PLAIN, 1, &c, zero);
    return qkv_bias(s->b, q, v, swin_name(s, name, "qkv_bias"));
}

struct tensor *swin_cpb_table(struct swin *s, const struct swin_block *block, bool raw)
{
    const struct int_list *windows = &s->o->pretrained_window_sizes;
    int pretrained = windows->n ? (int)windows->item[block->stage] : 0;

    return cpb_table(s->b, swin_name(s, block->name, "attn.cpb_mlp"),
                     .heads = block->heads, .window_h = block->window_h,
                     .window_w = block->window_w, .pretrained_h = pretrained,
                     .pretrained_w = pretrained, .raw = raw);
}

static struct tensor *attention(struct swin *s, struct tensor *x,
                                const struct swin_block *block)
{
    int64_t c = x->dim[3], dim[] = {block->heads, 1, 1};
    const char *name = swin_name(s, block->name, "attn");
    struct tensor *scale = graph_param(s->b, name, "logit_scale", LAYOUT_PLAIN, 3, dim,
                                       (struct init){INIT_CONSTANT, logf(10)});
    struct tensor *bias = bias_of(s, name, c), *table = swin_cpb_table(s, block, false);
    struct linear_attrs qkv = {
        .layer = swin_name(s, name, "qkv"), .out = (int)(3 * c), .init = s->init};

    x = bias ? linear_bias_(s->b, x, bias, &qkv) : linear_(s->b, x, &qkv);
    x = window_attention(
        s->b, x, name, .heads = block->heads, .window_h = block->window_h,
        .window_w = block->window_w, .shift_h = block->shift_h, .shift_w = block->shift_w,
        .table = table, .logit_scale = scale, .pad = block->padded ? bias : NULL);
    x = linear(s->b, x, swin_name(s, name, "proj"), .out = (int)c, .bias = 1,
               .init = s->init, .bias_init = INIT_RULE_ZERO);
    return dropout(s->b, x, swin_name(s, name, "proj_drop"),
                   .rate = (float)s->common->drop_rate);
}

static const struct swin_kind kind = {
    .mix = attention, .norm_last = true, .prefix = "MODEL.SWINV2"};

static struct tensor *swinv2_build(struct builder *b, const void *arch,
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
    SWIN_OPTIONS("MODEL.SWINV2"),
    OPTION("MODEL.SWINV2.QKV_BIAS", struct swin_options, qkv_bias),
    OPTION("MODEL.SWINV2.PRETRAINED_WINDOW_SIZES", struct swin_options,
           pretrained_window_sizes),
    {0},
};

/* clang-format off */
#define FROM12 .pretrained_window_sizes = SWIN_LIST(12, 12, 12, 6)
#define V2     .family = &swinv2_family, SWIN_ARCH

static const struct model models[] = {
    {ROW(swinv2_tiny_window8_256), V2(SWIN_T, 8), IMAGENET(256, 0.9), .classes = 1000,
     RECIPE "swinv2/swinv2_tiny_patch4_window8_256.yaml", TAGS "ms_in1k"},
    {ROW(swinv2_tiny_window16_256), V2(SWIN_T, 16), IMAGENET(256, 0.9), .classes = 1000,
     RECIPE "swinv2/swinv2_tiny_patch4_window16_256.yaml", TAGS "ms_in1k"},
    {ROW(swinv2_small_window8_256), V2(SWIN_S, 8), IMAGENET(256, 0.9), .classes = 1000,
     RECIPE "swinv2/swinv2_small_patch4_window8_256.yaml", TAGS "ms_in1k"},
    {ROW(swinv2_small_window16_256), V2(SWIN_S, 16), IMAGENET(256, 0.9), .classes = 1000,
     RECIPE "swinv2/swinv2_small_patch4_window16_256.yaml", TAGS "ms_in1k"},
    {ROW(swinv2_base_window8_256), V2(SWIN_B, 8), IMAGENET(256, 0.9), .classes = 1000,
     RECIPE "swinv2/swinv2_base_patch4_window8_256.yaml", TAGS "ms_in1k"},
    {ROW(swinv2_base_window16_256), V2(SWIN_B, 16), IMAGENET(256, 0.9), .classes = 1000,
     RECIPE "swinv2/swinv2_base_patch4_window16_256.yaml", TAGS "ms_in1k"},
    {ROW(swinv2_base_window12_192), V2(SWIN_B, 12), IMAGENET(192, 0.9), .classes = 21841,
     RECIPE "swinv2/swinv2_base_patch4_window12_192_22k.yaml", TAGS "ms_in22k"},
    {ROW(swinv2_base_window12to16_192to256), V2(SWIN_B, 16, FROM12), IMAGENET(256, 0.9), .classes = 1000,
     RECIPE "swinv2/swinv2_base_patch4_window12to16_192to256_22kto1k_ft.yaml", TAGS "ms_in22k_ft_in1k"},
    {ROW(swinv2_base_window12to24_192to384), V2(SWIN_B, 24, FROM12), IMAGENET(384, 1), .classes = 1000,
     RECIPE "swinv2/swinv2_base_patch4_window12to24_192to384_22kto1k_ft.yaml", TAGS "ms_in22k_ft_in1k"},
    {ROW(swinv2_large_window12_192), V2(SWIN_L, 12), IMAGENET(192, 0.9), .classes = 21841,
     RECIPE "swinv2/swinv2_large_patch4_window12_192_22k.yaml", TAGS "ms_in22k"},
    {ROW(swinv2_large_window12to16_192to256), V2(SWIN_L, 16, FROM12), IMAGENET(256, 0.9), .classes = 1000,
     RECIPE "swinv2/swinv2_large_patch4_window12to16_192to256_22kto1k_ft.yaml", TAGS "ms_in22k_ft_in1k"},
    {ROW(swinv2_large_window12to24_192to384), V2(SWIN_L, 24, FROM12), IMAGENET(384, 1), .classes = 1000,
     RECIPE "swinv2/swinv2_large_patch4_window12to24_192to384_22kto1k_ft.yaml", TAGS "ms_in22k_ft_in1k"},
    {.name = NULL},
};
/* clang-format on */

static const char *const custom_keys[] = {SWIN_CUSTOM_KEYS("MODEL.SWINV2")};
#define CUSTOM V2(SWIN_T, 7), IMAGENET(224, 0.875), .classes = 1000, TAGS ""
static const struct model custom[] = {
    {.name = "swinv2", CUSTOM},
    {.name = "simmim_pretrain", CUSTOM, .task = "simmim"},
    {.name = "simmim_finetune", CUSTOM, .layers = swin_layers_simmim},
    {.name = NULL},
};

const struct model_family swinv2_family = {
    .type = "swinv2",
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
    .build = swinv2_build,
    .check = check,
};
