#include "models/vit.h"

#include "models/masking.h"
#include "models/rows.h"
#include "models/stages.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/conv2d.h"
#include "ops/dropout.h"
#include "ops/expr.h"
#include "ops/layernorm.h"
#include "ops/linear.h"
#include "ops/position.h"
#include "ops/strided_copy.h"
#include "ops/tokens.h"
#include "ops/view.h"
#include "ops/window_attention.h"

/* A net under construction. */
struct net {
    struct builder *b;
    const struct vit *arch;
    const struct model_options *o;
    int init; /* enum init_rule of linear layers */
};

static const float eps = 1e-6f;

static const char *at(const struct net *v, const char *prefix, const char *suffix)
{
    return arena_printf(&v->b->g->arena, "%s.%s", prefix, suffix);
}

static struct tensor *dense(struct net *v, struct tensor *x, const char *name, int out)
{
    return linear(v->b, x, name, .out = out, .bias = 1, .init = v->init,
                  .bias_init = INIT_RULE_ZERO);
}

static struct tensor *token(struct net *v, const char *name, int64_t n, float std)
{
    int64_t dim[] = {1, n, v->arch->width};

    return graph_param(v->b, "", name, LAYOUT_PLAIN, 3, dim,
                       (struct init){INIT_NORMAL, std});
}

/* Tokens [N, 1 or 2 + patches, width]; in timm's order, parameters without a layer come
 * first. */
static struct tensor *embed(struct net *v, struct tensor *x)
{
    int side = v->arch->patch, prefix = v->arch->distilled ? 2 : 1;
    int64_t n = x->dim[2] / side * (x->dim[3] / side);
    struct tensor *cls = token(v, "cls_token", 1, 1e-6f);
    struct tensor *pos = token(v, "pos_embed", n + prefix, 0.02f);
    struct tensor *dist = v->arch->distilled ? token(v, "dist_token", 1, 0.02f) : NULL;
    struct tensor *mask = v->o->cells ? mask_token(v->b, v->arch->width) : NULL;
    int64_t flat[] = {x->dim[0], n, v->arch->width};

    x = conv2d(v->b, x, "patch_embed.proj", .out = v->arch->width, .kernel = side,
               .stride = side, .bias = 1,
               .init = v->o->init ? v->o->init : INIT_RULE_PYTORCH);
    x = view_tokens(v->b, x, "patch_embed");
    if (mask)
        x = mask_tokens(v->b, x, mask, v->o->cells);
    x = view_plain(v->b, x, "patch_embed", 3, flat);
    if (dist)
        x = prepend_token(v->b, x, dist, "dist_token");
    x = prepend_token(v->b, x, cls, "cls_token");
    return add_position(v->b, x, pos, "pos_embed");
}

/* All tokens of an image are one window of height 1. */
static struct tensor *attention(struct net *v, struct tensor *x, const char *p)
{
    int64_t n = x->dim[0], tokens = x->dim[1], c = x->dim[2];
    int64_t map[] = {n, 1, tokens, 3 * c}, flat[] = {n, tokens, c};

    x = dense(v, x, at(v, p, "attn.qkv"), (int)(3 * c));
    x = view_plain(v->b, x, at(v, p, "attn.map"), 4, map);
    x = window_attention(v->b, x, at(v, p, "attn"), .heads = v->arch->heads);
    x = view_plain(v->b, x, at(v, p, "attn.tokens"), 3, flat);
    return dense(v, x, at(v, p, "attn.proj"), (int)c);
}

static struct tensor *mlp(struct net *v, struct tensor *x, const char *p)
{
    int c = (int)x->dim[2];

    x = gelu(v->b, dense(v, x, at(v, p, "mlp.fc1"), 4 * c), at(v, p, "mlp.act"));
    return dense(v, x, at(v, p, "mlp.fc2"), c);
}

static struct tensor *block(struct net *v, struct tensor *x, int i)
{
    const char *p = arena_printf(&v->b->g->arena, "blocks.%d", i);
    int last = v->arch->depth - 1;
    float rate = last ? (float)(v->o->drop_path * i / last) : 0;
    struct tensor *y;

    scope_begin(v->b);
    y = attention(v, layernorm(v->b, x, at(v, p, "norm1"), .eps = eps), p);
    y = drop_path(v->b, y, at(v, p, "drop_path1"), .rate = rate);
    x = add(v->b, y, x, at(v, p, "add1"));
    y = mlp(v, layernorm(v->b, x, at(v, p, "norm2"), .eps = eps), p);
    y = drop_path(v->b, y, at(v, p, "drop_path2"), .rate = rate);
    x = add(v->b, y, x, at(v, p, "add2"));
    scope_end(v->b);
    return x;
}

static struct tensor *head(struct net *v, struct tensor *x, int i, const char *name)
{
    x = select_token(v->b, x, i, at(v, name, "token"));
    x = dropout(v->b, x, at(v, name, "drop"), .rate = (float)v->o->drop_rate);
    return dense(v, x, name, (int)v->o->classes);
}

/* Returns the tokens of the patches as an image. */
static struct tensor *map_of(struct net *v, struct tensor *x, int height, int width)
{
    int prefix = v->arch->distilled ? 2 : 1;
    int64_t n = x->dim[0], tokens = x->dim[1], c = x->dim[2],
            dim[] = {n, height, width, c};

    x = strided_copy(v->b, x, "norm", .n = 3, .len = {n, tokens - prefix, c},
                     .stride = {tokens * c, c, 1}, .offset = prefix * c);
    return view_image(v->b, view_plain(v->b, x, "norm", 4, dim), "norm");
}

static struct tensor *vit_build(struct builder *b, const void *arch,
                                const struct model_options *o, struct tensor *x)
{
    struct net v = {.b = b,
                    .arch = arch,
                    .o = o,
                    .init = o->init ? o->init : INIT_RULE_TRUNC_NORMAL_02};
    int side = v.arch->patch, height = (int)x->dim[2] / side,
        width = (int)x->dim[3] / side;
    struct tensor *logits, *taught;

    x = embed(&v, x);
    for (int i = 0; i < v.arch->depth; i++) {
        x = block(&v, x, i);
        if (model_stage_tokens(o, arena_printf(&b->g->arena, "blocks.%d", i), side, x,
                               v.arch->distilled ? 2 : 1, height, width))
            return NULL;
    }
    x = layernorm(b, x, "norm", .eps = eps);
    if (o->cells)
        return map_of(&v, x, height, width);
    logits = head(&v, x, 0, "head");
    if (!v.arch->distilled)
        return logits;
    taught = head(&v, x, 1, "head_dist");
    if (o->stages) {
        o->stages->own = logits;
        o->stages->taught = taught;
    }
    logits = add(b, logits, taught, "heads");
    return expr_scale_by(b, logits, 0.5f, "mean");
}

static const char *const *check(const struct model *m, const struct model_options *o,
                                int height, int width, struct strbuf *why)
{
    static const char *const size[] = {"DATA.IMG_SIZE", "MODEL.NAME", NULL};
    int side = ((const struct vit *)m->arch)->patch;

    (void)o;
    if (height % side == 0 && width % side == 0)
        return NULL;
    strbuf_addf(why, "%s cuts images into patches of %d pixels, which do not divide %d",
                m->name, side, height % side ? height : width);
    return size;
}

static const char *const no_decay[] = {"pos_embed", "cls_token", "dist_token",
                                       "mask_token", NULL};
static const struct model_grid grids[] = {{"pos_embed", GRID_ANTIALIAS, GRID_ANTIALIAS},
                                          {.end = NULL}};
static const char *const heads[] = {"head", "head_dist", NULL};
static const char *const reads[] = {"MODEL.NUM_CLASSES",
                                    "MODEL.DROP_RATE",
                                    "MODEL.DROP_PATH_RATE",
                                    "MODEL.INIT",
                                    "MODEL.SIMMIM.NORM_TARGET.ENABLE",
                                    "MODEL.SIMMIM.NORM_TARGET.PATCH_SIZE",
                                    NULL};

/* clang-format off */
#define TINY  .patch = 16, .width = 192, .depth = 12, .heads = 3
#define SMALL .patch = 16, .width = 384, .depth = 12, .heads = 6
#define BASE  .patch = 16, .width = 768, .depth = 12, .heads = 12
#define VIT(...)  .family = &vit_family, .classes = 1000, .arch = &(const struct vit){__VA_ARGS__}
/* timm's IMAGENET_INCEPTION_MEAN and _STD */
#define INCEPTION .size = 224, .crop_pct = 0.9, .mean = {0.5, 0.5, 0.5}, .std = {0.5, 0.5, 0.5}

static const struct model models[] = {
    {ROW(vit_tiny_patch16_224), VIT(TINY), INCEPTION, RECIPE "vit_tiny.yaml", TAGS "augreg_in21k_ft_in1k augreg_in21k"},
    {ROW(vit_small_patch16_224), VIT(SMALL), INCEPTION,
     TAGS "augreg_in21k_ft_in1k augreg_in1k augreg_in21k dino"},
    {ROW(vit_base_patch16_224), VIT(BASE), INCEPTION,
     TAGS "augreg2_in21k_ft_in1k augreg_in21k_ft_in1k orig_in21k_ft_in1k augreg_in1k orig_in21k augreg_in21k "
     "sam_in1k bamboo dino mae"},
    {ROW(deit_tiny_patch16_224), VIT(TINY), IMAGENET(224, 0.9), TAGS "fb_in1k"},
    {ROW(deit_small_patch16_224), VIT(SMALL), IMAGENET(224, 0.9), TAGS "fb_in1k"},
    {ROW(deit_base_patch16_224), VIT(BASE), IMAGENET(224, 0.9), TAGS "fb_in1k"},
    {ROW(deit_tiny_distilled_patch16_224), VIT(TINY, .distilled = true), IMAGENET(224, 0.9), TAGS "fb_in1k"},
    {ROW(deit_small_distilled_patch16_224), VIT(SMALL, .distilled = true), IMAGENET(224, 0.9), TAGS "fb_in1k"},
    {ROW(deit_base_distilled_patch16_224), VIT(BASE, .distilled = true), IMAGENET(224, 0.9), TAGS "fb_in1k"},
    {.name = NULL},
};
/* clang-format on */

/* Same as timm's. */
static const struct layer_rule layers[] = {
    {.pattern = "^(cls_token|dist_token|pos_embed|patch_embed)", .group = 0},
    {.pattern = "^blocks\\.([0-9]+)", .group = 1},
    {.pattern = "^norm\\.", .group = 1, .joins = true},
    {.pattern = NULL},
};

const struct model_family vit_family = {
    .type = "vit",
    .layer_norm = true,
    .masks = true,
    .task = MODEL_CLASSIFY,
    .models = models,
    .reads = reads,
    .no_decay = no_decay,
    .layers = layers,
    .grids = grids,
    .heads = heads,
    .default_stages = 3, /* timm's */
    .cam = ".norm1",
    .build = vit_build,
    .check = check,
};
