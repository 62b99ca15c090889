#include "models/swin_moe.h"

#include <math.h>

#include "models/rows.h"
#include "ops/cpb_table.h"

static struct tensor *attention(struct swin *s, struct tensor *x,
                                const struct swin_block *block)
{
    return swin_attention(s, x, block, swin_cpb_table(s, block, true));
}

static bool listed(const struct int_list *l, int64_t block)
{
    for (int i = 0; i < l->n; i++)
        if (l->item[i] == block)
            return true;
    return false;
}

static struct tensor *mlp(struct swin *s, struct tensor *x,
                          const struct swin_block *block)
{
    const struct swin_moe_options *o = (const struct swin_moe_options *)s->o;

    return listed(&o->moe_blocks.item[block->stage], block->index)
               ? swin_moe_mlp(s, x, block)
               : swin_dense_mlp(s, x, block->name, o->mlp_fc2_bias);
}

static const struct swin_kind kind = {
    .mix = attention, .mlp = mlp, .prefix = "MODEL.SWIN_MOE"};

/* Gives INIT_STD to the parameters that start as normal numbers of deviation 0.02. */
static void set_deviation(struct graph *g, int first, double std)
{
    for (int i = first; i < g->ntensor; i++) {
        struct init *init = &g->tensor[i]->init;

        if (g->tensor[i]->kind == TENSOR_PARAM &&
            (init->kind == INIT_NORMAL || init->kind == INIT_TRUNC_NORMAL) &&
            fabsf(init->value - 0.02f) < 1e-6f)
            *init = (struct init){INIT_TRUNC_NORMAL, (float)std};
    }
}

static struct tensor *swin_moe_build(struct builder *b, const void *arch,
                                     const struct model_options *common, struct tensor *x)
{
    const struct swin_moe_options *o = common->family ? common->family : arch;
    int first = b->g->ntensor;
    struct tensor *logits = swin_net(b, &kind, arch, common, x);

    if (!common->init)
        set_deviation(b->g, first, o->init_std);
    return logits;
}

int64_t swin_moe_experts(const struct swin_moe_options *o, int64_t processes)
{
    int64_t n = o->num_local_experts, all = processes > 0 ? processes : 1;

    if (o->num_experts > 0)
        return o->num_experts;
    return n > 0 ? n * all : n < 0 && all % -n == 0 ? all / -n : 0;
}

int64_t swin_moe_capacity(const struct swin_moe_options *o, int64_t tokens,
                          int64_t experts)
{
    int64_t share = (tokens + experts - 1) / experts, unit = -o->num_local_experts;
    double each = floor(fabs(o->capacity_factor) * (double)share);
    int64_t n = o->top_value * (each < (double)tokens ? (int64_t)each : tokens);

    if (o->capacity_factor == 0)
        return tokens;
    if (unit > 1)
        n = (n + unit - 1) / unit * unit;
    return n < tokens ? n : tokens;
}

/* ---- checks ---- */

#define KEY(name) "MODEL.SWIN_MOE." name

static const char *const blocks_key[] = {KEY("MOE_BLOCKS"), KEY("DEPTHS"), NULL};
static const char *const experts_key[] = {KEY("NUM_LOCAL_EXPERTS"), KEY("NUM_EXPERTS"),
                                          NULL};
static const char *const top_key[] = {KEY("TOP_VALUE"), KEY("NUM_EXPERTS"), NULL};
static const char *const loss_key[] = {KEY("GATE_NOISE"), KEY("IS_GSHARD_LOSS"), NULL};

/* Counts the blocks with experts in *n. */
static const char *const *check_blocks(const struct swin_moe_options *o, int *n,
                                       struct strbuf *why)
{
    const struct int_list *depths = &o->swin.depths;

    *n = 0;
    if (o->moe_blocks.n != depths->n) {
        strbuf_addf(why, KEY("MOE_BLOCKS") " is of %d stages, and DEPTHS of %d",
                    o->moe_blocks.n, depths->n);
        return blocks_key;
    }
    for (int i = 0; i < depths->n; i++)
        for (int k = 0; k < o->moe_blocks.item[i].n; k++) {
            long long block = o->moe_blocks.item[i].item[k];

            if (block >= depths->item[i]) {
                strbuf_addf(why,
                            KEY("MOE_BLOCKS") ": stage %d has no block %lld; its last is "
                                              "%lld (DEPTHS)",
                            i + 1, block, (long long)depths->item[i] - 1);
                return blocks_key;
            }
            *n += block >= 0;
        }
    return NULL;
}

static const char *const *check_experts(const struct swin_moe_options *o,
                                        int64_t processes, struct strbuf *why)
{
    long long n = o->num_local_experts, experts = swin_moe_experts(o, processes);
    bool load = !o->is_gshard_loss && o->aux_loss_weight > 0;

    if (experts < 1) {
        strbuf_addf(why,
                    n ? KEY("NUM_LOCAL_EXPERTS") " %lld: each expert has %lld processes, "
                                                 "but this run has %lld"
                      : KEY("NUM_LOCAL_EXPERTS") " is 0",
                    n, -n, (long long)processes);
        strbuf_addf(why, "; " KEY("NUM_EXPERTS") " sets the number of all experts");
        return experts_key;
    }
    if (o->top_value > experts) {
        strbuf_addf(why, KEY("TOP_VALUE") " %lld: there are only %lld experts",
                    (long long)o->top_value, experts);
        return top_key;
    }
    if (load && (experts < 2 || !(o->gate_noise > 0))) {
        strbuf_addf(
            why, "the importance and load loss needs " KEY("GATE_NOISE") " above 0 and "
                                                                         "two experts; "
                                                                         "use " KEY("IS_"
                                                                                    "GSHA"
                                                                                    "RD_"
                                                                                    "LOS"
                                                                                    "S") " True or " KEY(
                                                                             "AUX_LOSS_"
                                                                             "WEIGHT") " "
                                                                                       "0");
        return loss_key;
    }
    return NULL;
}

static const char *const *check(const struct model *m, const struct model_options *common,
                                int height, int width, struct strbuf *why)
{
    const struct swin_moe_options *o = common->family ? common->family : m->arch;
    const char *const *keys = swin_check(&kind, m, common, height, width, why);
    int n;

    if (!keys)
        keys = check_blocks(o, &n, why);
    return keys || !n ? keys : check_experts(o, common->processes, why);
}

/* ---- models ---- */

#define OPT(name, member) OPTION(KEY(name), struct swin_moe_options, member)

static const struct option options[] = {
    SWIN_OPTIONS("MODEL.SWIN_MOE"),
    OPTION(KEY("QKV_BIAS"), struct swin_options, qkv_bias),
    OPTION(KEY("QK_SCALE"), struct swin_options, qk_scale),
    OPTION(KEY("PRETRAINED_WINDOW_SIZES"), struct swin_options, pretrained_window_sizes),
    OPT("MLP_FC2_BIAS", mlp_fc2_bias),
    OPT("INIT_STD", init_std),
    OPT("MOE_BLOCKS", moe_blocks),
    OPT("NUM_EXPERTS", num_experts),
    OPT("NUM_LOCAL_EXPERTS", num_local_experts),
    OPT("TOP_VALUE", top_value),
    OPT("CAPACITY_FACTOR", capacity_factor),
    OPT("COSINE_ROUTER", cosine_router),
    OPT("NORMALIZE_GATE", normalize_gate),
    OPT("USE_BPR", use_bpr),
    OPT("IS_GSHARD_LOSS", is_gshard_loss),
    OPT("GATE_NOISE", gate_noise),
    OPT("COSINE_ROUTER_DIM", cosine_router_dim),
    OPT("COSINE_ROUTER_INIT_T", cosine_router_init_t),
    OPT("MOE_DROP", moe_drop),
    OPT("AUX_LOSS_WEIGHT", aux_loss_weight),
    {0},
};

static const char *const no_decay[] = {
    "absolute_pos_embed", "cpb_mlp",    "relative_position_bias_table",
    "fc1_bias",           "fc2_bias",   "temperature",
    "cosine_projector",   "sim_matrix", NULL};

static const char *const computed[] = {"relative_position_index", "relative_coords_table",
                                       "attn_mask", "_num_global_experts", NULL};

static const int64_t none[] = {-1}, odd[] = {1, 3, 5, 7, 9, 11, 13, 15, 17};
static const struct int_list dense[] = {{none, 1}, {none, 1}, {none, 1}, {none, 1}},
                             sparse[] = {{none, 1}, {none, 1}, {odd, 9}, {odd, 1}};

/* clang-format off */
#define MOE(...) MOE_(__VA_ARGS__)
#define MOE_(dim, ...)                                                                   \
    .family = &swin_moe_family, .arch = &(const struct swin_moe_options) {               \
        .swin = {.patch_size = 4, .in_chans = 3, .embed_dim = (dim),                     \
                 .depths = SWIN_LIST(2, 2, 18, 2), .num_heads = HEADS_##dim,             \
                 .window_size = 12, .mlp_ratio = 4, .qkv_bias = true,                    \
                 .patch_norm = true},                                                    \
        .top_value = 1, .capacity_factor = 1.25, .use_bpr = true,     \
        .gate_noise = 1, .cosine_router_dim = 256, .cosine_router_init_t = 0.5,          \
        .aux_loss_weight = 0.01, __VA_ARGS__}
#define HEADS_96  SWIN_LIST(3, 6, 12, 24)
#define HEADS_128 SWIN_LIST(4, 8, 16, 32)
#define DENSE .moe_blocks = {dense, 4}, .num_local_experts = 1, .init_std = 0.02
#define SPARSE(n, local)                                                                 \
    .moe_blocks = {sparse, 4}, .num_experts = (n), .num_local_experts = (local),      \
        .moe_drop = 0.1, .init_std = 0.005
#define AT_192 IMAGENET(192, 0.9), .classes = 21841, TAGS ""

static const struct model models[] = {
    {ROW(swin_moe_small_patch4_window12_192_densebaseline_22k), MOE(96, DENSE), AT_192,
     RECIPE "swinmoe/swin_moe_small_patch4_window12_192_densebaseline_22k.yaml"},
    {ROW(swin_moe_small_patch4_window12_192_8expert_32gpu_22k), MOE(96, SPARSE(8, -4)), AT_192,
     RECIPE "swinmoe/swin_moe_small_patch4_window12_192_8expert_32gpu_22k.yaml"},
    {ROW(swin_moe_small_patch4_window12_192_16expert_32gpu_22k), MOE(96, SPARSE(16, -2)), AT_192,
     RECIPE "swinmoe/swin_moe_small_patch4_window12_192_16expert_32gpu_22k.yaml"},
    {ROW(swin_moe_small_patch4_window12_192_32expert_32gpu_22k), MOE(96, SPARSE(32, 1)), AT_192,
     RECIPE "swinmoe/swin_moe_small_patch4_window12_192_32expert_32gpu_22k.yaml"},
    {ROW(swin_moe_small_patch4_window12_192_64expert_64gpu_22k), MOE(96, SPARSE(64, 1)), AT_192,
     RECIPE "swinmoe/swin_moe_small_patch4_window12_192_64expert_64gpu_22k.yaml"},
    {ROW(swin_moe_small_patch4_window12_192_cosine_router_32expert_32gpu_22k),
     MOE(96, SPARSE(32, 1), .cosine_router = true), AT_192,
     RECIPE "swinmoe/swin_moe_small_patch4_window12_192_cosine_router_32expert_32gpu_22k.yaml"},
    {ROW(swin_moe_base_patch4_window12_192_densebaseline_22k), MOE(128, DENSE), AT_192,
     RECIPE "swinmoe/swin_moe_base_patch4_window12_192_densebaseline_22k.yaml"},
    {ROW(swin_moe_base_patch4_window12_192_8expert_32gpu_22k), MOE(128, SPARSE(8, -4)), AT_192,
     RECIPE "swinmoe/swin_moe_base_patch4_window12_192_8expert_32gpu_22k.yaml"},
    {ROW(swin_moe_base_patch4_window12_192_16expert_32gpu_22k), MOE(128, SPARSE(16, -2)), AT_192,
     RECIPE "swinmoe/swin_moe_base_patch4_window12_192_16expert_32gpu_22k.yaml"},
    {ROW(swin_moe_base_patch4_window12_192_32expert_32gpu_22k), MOE(128, SPARSE(32, 1)), AT_192,
     RECIPE "swinmoe/swin_moe_base_patch4_window12_192_32expert_32gpu_22k.yaml"},
    {ROW(swin_moe_base_patch4_window12_192_cosine_router_32expert_32gpu_22k),
     MOE(128, SPARSE(32, 1), .cosine_router = true), AT_192,
     RECIPE "swinmoe/swin_moe_base_patch4_window12_192_cosine_router_32expert_32gpu_22k.yaml"},
    {.name = NULL},
};
/* clang-format on */

static const char *const custom_keys[] = {SWIN_CUSTOM_KEYS("MODEL.SWIN_MOE")};
static const struct model custom[] = {
    {.name = "swin_moe", MOE(96, DENSE), IMAGENET(224, 0.875), .classes = 1000, TAGS ""},
    {.name = NULL},
};

const struct model_family swin_moe_family = {
    .type = "swin_moe",
    .layer_norm = true,
    .task = MODEL_CLASSIFY,
    .models = models,
    .reads = swin_reads,
    .options = options,
    .options_size = sizeof(struct swin_moe_options),
    .arch_is_options = true,
    .custom_keys = custom_keys,
    .custom = custom,
    .balances = true,
    .no_decay = no_decay,
    .layers = swin_layers,
    .cam = ".norm1",
    .grids = swin_grids,
    .imagenet22k = true,
    .computed = computed,
    .build = swin_moe_build,
    .check = check,
};
