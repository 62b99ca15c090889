#include "models/swin_net.h"

#include "base/error.h"
#include "models/masking.h"
#include "models/stages.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/conv2d.h"
#include "ops/dropout.h"
#include "ops/global_avgpool.h"
#include "ops/layernorm.h"
#include "ops/linear.h"
#include "ops/patch_merge.h"
#include "ops/position.h"
#include "ops/view.h"

enum { H = 1, W, C }; /* the dims of tokens [N,H,W,C] */

const char *const swin_reads[] = {"MODEL.NUM_CLASSES",
                                  "MODEL.DROP_RATE",
                                  "MODEL.DROP_PATH_RATE",
                                  "MODEL.INIT",
                                  "MODEL.SIMMIM.NORM_TARGET.ENABLE",
                                  "MODEL.SIMMIM.NORM_TARGET.PATCH_SIZE",
                                  NULL};

/* Same list as Microsoft's for all three. */
const char *const swin_no_decay[] = {"absolute_pos_embed",
                                     "relative_position_bias_table",
                                     "cpb_mlp",
                                     "logit_scale",
                                     "mask_token",
                                     NULL};

/* As in timm, a downsampling belongs to the layer of the next block. */
const struct layer_rule swin_layers[] = {
    {.pattern = "^(absolute_pos_embed|patch_embed)", .group = 0},
    {.pattern = "^layers\\.([0-9]+)\\.downsample",
     .group = 1,
     .then = 0,
     .has_then = true},
    {.pattern = "^layers\\.([0-9]+)\\.blocks\\.([0-9]+)", .group = 1},
    {.pattern = "^norm", .group = 1, .joins = true},
    {.pattern = NULL},
};

#define SIMMIM_DOWN(k)                                                                   \
    {                                                                                    \
        .pattern = "^layers\\." #k "\\.downsample", .group = 1, .then = (k)-1,           \
        .has_then = true, .joins = true                                                  \
    }
/* Of SimMIM's fine-tuning, where a downsampling belongs to the block before it, and the
 * norm to the head. */
const struct layer_rule swin_layers_simmim[] = {
    {.pattern = "^patch_embed", .group = 0},
    {.pattern = "^layers\\.([0-9]+)\\.blocks\\.([0-9]+)", .group = 1},
    SIMMIM_DOWN(1),
    SIMMIM_DOWN(2),
    SIMMIM_DOWN(3),
    SIMMIM_DOWN(4),
    SIMMIM_DOWN(5),
    SIMMIM_DOWN(6),
    SIMMIM_DOWN(7),
    {.pattern = NULL},
};

const struct model_grid swin_grids[] = {
    {"relative_position_bias_table", GRID_GEOMETRIC, GRID_BICUBIC, .suffix = false},
    {"absolute_pos_embed", GRID_BICUBIC, GRID_BICUBIC, .suffix = false},
    {.end = NULL},
};

const char *const swin_computed[] = {"relative_position_index", "relative_coords_table",
                                     "attn_mask", NULL};

const char *swin_name(const struct swin *s, const char *prefix, const char *suffix)
{
    return arena_printf(&s->b->g->arena, "%s.%s", prefix, suffix);
}

struct tensor *swin_bias_of(const struct tensor *x)
{
    const struct node *n = x->producer;

    return n->nin > LINEAR_BIAS ? n->in[LINEAR_BIAS] : NULL;
}

static struct tensor *drop(struct swin *s, struct tensor *x, const char *name)
{
    return dropout(s->b, x, name, .rate = (float)s->common->drop_rate);
}

/* In timm's order an absolute position embedding comes before all other parameters. */
static struct tensor *position(struct swin *s, const struct tensor *x)
{
    int64_t side = s->o->patch_size;
    int64_t dim[] = {1, x->dim[2] / side * (x->dim[3] / side), s->o->embed_dim};

    return !s->o->ape ? NULL
                      : graph_param(s->b, "", "absolute_pos_embed", LAYOUT_PLAIN, 3, dim,
                                    (struct init){INIT_NORMAL, 0.02f});
}

static struct tensor *embed(struct swin *s, struct tensor *x)
{
    int side = (int)s->o->patch_size;
    struct tensor *p = position(s, x);
    struct tensor *token = s->common->cells ? mask_token(s->b, s->o->embed_dim) : NULL;
    enum init_rule default_rule = INIT_RULE_PYTORCH;

    x = conv2d(s->b, x, "patch_embed.proj", .out = (int)s->o->embed_dim, .kernel = side,
               .stride = side, .bias = 1,
               .init = (int)(s->common->init ? s->common->init : (int)default_rule));
    x = view_tokens(s->b, x, "patch_embed");
    if (s->o->patch_norm)
        x = layernorm(s->b, x, "patch_embed.norm");
    if (token)
        x = mask_tokens(s->b, x, token, s->common->cells);
    if (p)
        x = add_position(s->b, x, p, "absolute_pos_embed");
    return drop(s, x, "pos_drop");
}

static struct tensor *norm(struct swin *s, struct tensor *x, const char *block,
                           const char *name)
{
    return layernorm(s->b, x, swin_name(s, block, name), .zero_init = s->kind->norm_last);
}

struct tensor *swin_dense_mlp(struct swin *s, struct tensor *x, const char *block,
                              bool fc2_bias)
{
    int64_t c = x->dim[C];

    x = linear(s->b, x, swin_name(s, block, "mlp.fc1"),
               .out = (int)((double)c * s->o->mlp_ratio), .bias = 1, .init = s->init,
               .bias_init = INIT_RULE_ZERO);
    x = gelu(s->b, x, swin_name(s, block, "mlp.act"));
    x = drop(s, x, swin_name(s, block, "mlp.drop1"));
    x = linear(s->b, x, swin_name(s, block, "mlp.fc2"), .out = (int)c, .bias = fc2_bias,
               .init = s->init, .bias_init = INIT_RULE_ZERO);
    return drop(s, x, swin_name(s, block, "mlp.drop2"));
}

/* Returns x + branch, or only x for dropped samples. */
static struct tensor *residual(struct swin *s, struct tensor *x, struct tensor *branch,
                               const char *block, const char *drop_name,
                               const char *add_name)
{
    double rate = s->nblock > 1 ? s->common->drop_path * s->block / (s->nblock - 1) : 0;

    branch = drop_path(s->b, branch, swin_name(s, block, drop_name), .rate = (float)rate);
    return add(s->b, branch, x, swin_name(s, block, add_name));
}

static struct tensor *block(struct swin *s, struct tensor *x,
                            const struct swin_block *item)
{
    bool last = s->kind->norm_last;
    struct tensor *y = x;

    scope_begin(s->b);
    if (!last)
        y = norm(s, y, item->name, "norm1");
    y = s->kind->mix(s, y, item);
    if (last)
        y = norm(s, y, item->name, "norm1");
    x = y = residual(s, x, y, item->name, "drop_path1", "add1");
    if (!last)
        y = norm(s, y, item->name, "norm2");
    y = s->kind->mlp ? s->kind->mlp(s, y, item) : swin_dense_mlp(s, y, item->name, true);
    if (last)
        y = norm(s, y, item->name, "norm2");
    x = residual(s, x, y, item->name, "drop_path2", "add2");
    scope_end(s->b);
    s->block++;
    return x;
}

static struct tensor *merge(struct swin *s, struct tensor *x, const char *stage)
{
    const char *norm_name = swin_name(s, stage, "downsample.norm");
    int out = 2 * (int)x->dim[C];

    x = patch_merge(s->b, x, swin_name(s, stage, "downsample"));
    if (!s->kind->norm_last)
        x = layernorm(s->b, x, norm_name);
    x = linear(s->b, x, swin_name(s, stage, "downsample.reduction"), .out = out,
               .init = s->init);
    return s->kind->norm_last ? layernorm(s->b, x, norm_name) : x;
}

/* For one direction. */
static void window_of(int64_t side, int64_t window, bool shifted, int *size, int *shift)
{
    *size = (int)(side < window ? side : window);
    *shift = shifted && side > window ? *size / 2 : 0;
}

static struct tensor *stage(struct swin *s, struct tensor *x, int i)
{
    const char *name = arena_printf(&s->b->g->arena, "layers.%d", i);

    if (i > 0)
        x = merge(s, x, name);
    for (int k = 0; k < s->o->depths.item[i]; k++) {
        struct swin_block item = {
            .name = arena_printf(&s->b->g->arena, "%s.blocks.%d", name, k),
            .stage = i,
            .index = k,
            .heads = (int)s->o->num_heads.item[i],
        };

        window_of(x->dim[H], s->o->window_size, k % 2, &item.window_h, &item.shift_h);
        window_of(x->dim[W], s->o->window_size, k % 2, &item.window_w, &item.shift_w);
        item.padded = x->dim[H] % item.window_h || x->dim[W] % item.window_w;
        x = block(s, x, &item);
    }
    return x;
}

struct tensor *swin_net(struct builder *b, const struct swin_kind *kind, const void *arch,
                        const struct model_options *common, struct tensor *x)
{
    const struct swin_options *o = common->family ? common->family : arch;
    struct swin s = {
        .b = b,
        .o = o,
        .common = common,
        .kind = kind,
        .init = common->init ? common->init : INIT_RULE_TRUNC_NORMAL_02,
    };

    if (x->dim[1] != o->in_chans)
        usage("%s.IN_CHANS is %lld, and the images have %lld channels (MODEL.IN_CHANS)",
              kind->prefix, (long long)o->in_chans, (long long)x->dim[1]);
    for (int i = 0; i < o->depths.n; i++)
        s.nblock += (int)o->depths.item[i];
    x = embed(&s, x);
    for (int i = 0; i < o->depths.n; i++) {
        x = stage(&s, x, i);
        if (model_stage(common, arena_printf(&b->g->arena, "layers.%d", i),
                        (int)o->patch_size << i, x))
            return NULL;
    }
    x = view_image(b, layernorm(b, x, "norm"), "head");
    if (common->cells)
        return x;
    x = global_avgpool(b, x, "head.global_pool");
    return linear(b, x, "head.fc", .out = (int)common->classes, .bias = 1, .init = s.init,
                  .bias_init = INIT_RULE_ZERO);
}
