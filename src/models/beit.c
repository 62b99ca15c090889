#include "models/beit.h"

#include <math.h>

#include "models/attend.h"
#include "models/blocks.h"
#include "models/image_size.h"
#include "models/rows.h"
#include "models/stages.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/conv2d.h"
#include "ops/dropout.h"
#include "ops/gather.h"
#include "ops/global_avgpool.h"
#include "ops/layer_scale.h"
#include "ops/layernorm.h"
#include "ops/linear.h"
#include "ops/qkv_bias.h"
#include "ops/strided_copy.h"
#include "ops/tokens.h"
#include "ops/view.h"

enum { EXTRA = 3 }; /* rows of a table that are of the class token */

static const float head_scale = 0.001f; /* of the classifier's initial weights */

/* A net under construction. */
struct beit_net {
    struct builder *b;
    const struct beit *arch;
    const struct model_options *o;
    int height, width;    /* of the map of patches */
    int64_t tokens, rows; /* with the class token; of a table */
    const int32_t *index; /* the row of a table for each pair of tokens */
    int init;             /* enum init_rule of linear layers */
};

static struct tensor *dense(struct beit_net *v, struct tensor *x, const char *name,
                            int out, float scale)
{
    x = linear(v->b, x, name, .out = out, .bias = 1, .init = v->init,
               .bias_init = INIT_RULE_ZERO);
    x->producer->in[LINEAR_WEIGHT]->init.value *= scale;
    return x;
}

static struct tensor *norm(struct beit_net *v, struct tensor *x, const char *name)
{
    return layernorm(v->b, x, name, .eps = 1e-6f);
}

static struct tensor *vector(struct beit_net *v, const char *p, const char *name,
                             struct init init)
{
    int64_t width = v->arch->width;

    return graph_param(v->b, p, name, LAYOUT_PLAIN, 1, &width, init);
}

/* Returns the row for each pair of tokens, of which the first is the class token. */
static const int32_t *pairs(const struct beit_net *v)
{
    int32_t *index =
        arena_new(&v->b->g->arena, (size_t)(v->tokens * v->tokens) * sizeof(*index));
    int32_t class_to_class = (int32_t)v->rows - 1, to_class = class_to_class - 1,
            from_class = class_to_class - 2;
    int64_t n = v->tokens;

    for (int64_t i = 1; i < n; i++) {
        int64_t y = (i - 1) / v->width + v->height - 1, x = (i - 1) % v->width;

        for (int64_t k = 1; k < n; k++)
            index[i * n + k] = (int32_t)((y - (k - 1) / v->width) * (2 * v->width - 1) +
                                         x - (k - 1) % v->width + v->width - 1);
        index[i * n] = to_class;
        index[i] = from_class;
    }
    index[0] = class_to_class;
    return index;
}

/* Returns the bias of the scores, [1,heads,tokens,tokens]. */
static struct tensor *position_bias(struct beit_net *v, const char *p)
{
    int64_t heads = v->arch->heads, rows = v->rows, dim[] = {rows, heads};
    int64_t map[] = {1, heads, v->tokens, v->tokens};
    struct tensor *t = graph_param(v->b, p, "relative_position_bias_table", LAYOUT_PLAIN,
                                   2, dim, (struct init){INIT_ZERO, 0});

    t = strided_copy(v->b, t, layer_below(v->b, p, "table"), .n = 2, .len = {heads, rows},
                     .stride = {1, heads});
    t = gather(v->b, t, layer_below(v->b, p, "pairs"), .outer = heads, .extent = rows,
               .inner = 1, .n = v->tokens * v->tokens, .index = v->index);
    return view_plain(v->b, t, layer_below(v->b, p, "pairs"), 4, map);
}

static struct tensor *attention(struct beit_net *v, struct tensor *x, const char *p,
                                float scale)
{
    const struct init zero = {INIT_ZERO, 0};
    int width = v->arch->width;
    struct tensor *q = vector(v, p, "q_bias", zero), *k = vector(v, p, "v_bias", zero);
    struct tensor *bias = qkv_bias(v->b, q, k, layer_below(v->b, p, "qkv_bias"));
    struct tensor *added = position_bias(v, p), *part[3];

    x = linear_bias(v->b, x, bias, layer_below(v->b, p, "qkv"), .out = 3 * width,
                    .init = v->init);
    for (int i = 0; i < 3; i++)
        part[i] = attend_part(v->b, x, layer_below(v->b, p, "part"), i, 3);
    x = attend(v->b, part[0], part[1], part[2], p, .heads = v->arch->heads,
               .bias = added);
    return dense(v, x, layer_below(v->b, p, "proj"), width, scale);
}

static struct tensor *mlp(struct beit_net *v, struct tensor *x, const char *p,
                          float scale)
{
    int width = v->arch->width;

    x = dense(v, x, layer_below(v->b, p, "fc1"), 4 * width, 1);
    x = gelu(v->b, x, layer_below(v->b, p, "act"));
    return dense(v, x, layer_below(v->b, p, "fc2"), width, scale);
}

/* x + gamma y, for which drop path may stand in. */
static struct tensor *join(struct beit_net *v, struct tensor *x, struct tensor *y,
                           struct tensor *gamma, float rate, const char *name)
{
    y = layer_scale(v->b, y, layer_below(v->b, name, "scale"), .gamma = gamma);
    y = drop_path(v->b, y, layer_below(v->b, name, "drop_path"), .rate = rate);
    return add(v->b, y, x, name);
}

/* The last layers of block i start smaller by sqrt(2 (i + 1)): section 2.2 of BEiT. */
static struct tensor *block(struct beit_net *v, struct tensor *x, int i)
{
    const struct init init = {INIT_CONSTANT, v->arch->layer_scale};
    const char *p = arena_printf(&v->b->g->arena, "blocks.%d", i);
    int last = v->arch->depth - 1;
    float rate = last ? (float)(v->o->drop_path * i / last) : 0;
    float scale = 1 / sqrtf(2 * (float)(i + 1));
    struct tensor *gamma[2], *y;

    gamma[0] = vector(v, p, "gamma_1", init);
    gamma[1] = vector(v, p, "gamma_2", init);
    scope_begin(v->b);
    y = norm(v, x, layer_below(v->b, p, "norm1"));
    y = attention(v, y, layer_below(v->b, p, "attn"), scale);
    x = join(v, x, y, gamma[0], rate, layer_below(v->b, p, "add1"));
    y = norm(v, x, layer_below(v->b, p, "norm2"));
    y = mlp(v, y, layer_below(v->b, p, "mlp"), scale);
    x = join(v, x, y, gamma[1], rate, layer_below(v->b, p, "add2"));
    scope_end(v->b);
    return x;
}

static struct tensor *embed(struct beit_net *v, struct tensor *x)
{
    int64_t width = v->arch->width, token[] = {1, 1, width};
    int64_t flat[] = {x->dim[0], v->tokens - 1, width};
    struct tensor *cls = graph_param(v->b, "", "cls_token", LAYOUT_PLAIN, 3, token,
                                     (struct init){INIT_NORMAL, 0.02f});

    x = conv2d(v->b, x, "patch_embed.proj", .out = (int)width, .kernel = v->arch->patch,
               .stride = v->arch->patch, .bias = 1,
               .init = v->o->init ? v->o->init : INIT_RULE_PYTORCH);
    x = view_plain(v->b, view_tokens(v->b, x, "patch_embed"), "patch_embed", 3, flat);
    return prepend_token(v->b, x, cls, "cls_token");
}

/* Classifies the mean of the patches. */
static struct tensor *head(struct beit_net *v, struct tensor *x)
{
    int64_t n = x->dim[0], width = x->dim[2], flat[] = {n, width};
    int64_t map[] = {n, v->height, v->width, width};

    x = slice_tokens(v->b, x, 1, (int)v->tokens - 1, "pool");
    x = view_image(v->b, view_plain(v->b, x, "pool", 4, map), "pool");
    x = view_tokens(v->b, global_avgpool(v->b, x, "pool"), "pool");
    x = norm(v, view_plain(v->b, x, "pool", 2, flat), "fc_norm");
    x = dropout(v->b, x, "head_drop", .rate = (float)v->o->drop_rate);
    return dense(v, x, "head", (int)v->o->classes, head_scale);
}

static struct tensor *beit_build(struct builder *b, const void *arch,
                                 const struct model_options *o, struct tensor *x)
{
    struct beit_net v = {.b = b,
                         .arch = arch,
                         .o = o,
                         .init = o->init ? o->init : INIT_RULE_TRUNC_NORMAL_02};
    int side = v.arch->patch;

    v.height = (int)x->dim[2] / side;
    v.width = (int)x->dim[3] / side;
    v.tokens = 1 + (int64_t)v.height * v.width;
    v.rows = (2 * (int64_t)v.height - 1) * (2 * v.width - 1) + EXTRA;
    v.index = pairs(&v);
    x = embed(&v, x);
    for (int i = 0; i < v.arch->depth; i++) {
        x = block(&v, x, i);
        if (model_stage_tokens(o, arena_printf(&b->g->arena, "blocks.%d", i), side, x, 1,
                               v.height, v.width))
            return NULL;
    }
    return head(&v, x);
}

static const char *const *check(const struct model *m, const struct model_options *o,
                                int height, int width, struct strbuf *why)
{
    (void)o;
    return size_in_patches(m, ((const struct beit *)m->arch)->patch, height, width, why);
}

static const char *const reads[] = {"MODEL.NUM_CLASSES", "MODEL.DROP_RATE",
                                    "MODEL.DROP_PATH_RATE", "MODEL.INIT", NULL};
static const char *const no_decay[] = {"cls_token", "relative_position_bias_table", NULL};
static const char *const computed[] = {"relative_position_index", NULL};
static const struct model_grid grids[] = {
    {"relative_position_bias_table", GRID_GEOMETRIC, GRID_GEOMETRIC, .suffix = true},
    {.end = NULL}};

/* Same as timm's. */
static const struct layer_rule layers[] = {
    {.pattern = "^(cls_token|patch_embed)", .group = 0},
    {.pattern = "^blocks\\.([0-9]+)", .group = 1},
    {.pattern = NULL},
};

/* clang-format off */
#define BEIT(w, n, h, scale) \
    .family = &beit_family, .classes = 1000, .arch = &(const struct beit){16, (w), (n), (h), (scale)}
#define BASE(scale)  BEIT(768, 12, 12, scale)
#define LARGE(scale) BEIT(1024, 24, 16, scale)

static const struct model models[] = {
    {ROW(beit_base_patch16_224), BASE(0.1f), HALF(224, 0.9), TAGS "in22k_ft_in22k_in1k in22k_ft_in22k"},
    {ROW(beit_base_patch16_384), BASE(0.1f), HALF(384, 1.0), TAGS "in22k_ft_in22k_in1k"},
    {ROW(beit_large_patch16_224), LARGE(1e-5f), HALF(224, 0.9), TAGS "in22k_ft_in22k_in1k in22k_ft_in22k"},
    {ROW(beit_large_patch16_384), LARGE(1e-5f), HALF(384, 1.0), TAGS "in22k_ft_in22k_in1k"},
    {ROW(beit_large_patch16_512), LARGE(1e-5f), HALF(512, 1.0), TAGS "in22k_ft_in22k_in1k"},
    {ROW(beitv2_base_patch16_224), BASE(1e-5f), IMAGENET(224, 0.9),
     TAGS "in1k_ft_in22k_in1k in1k_ft_in1k in1k_ft_in22k"},
    {ROW(beitv2_large_patch16_224), LARGE(1e-5f), IMAGENET(224, 0.95),
     TAGS "in1k_ft_in22k_in1k in1k_ft_in1k in1k_ft_in22k"},
    {.name = NULL},
};
/* clang-format on */

const struct model_family beit_family = {
    .type = "beit",
    .layer_norm = true,
    .task = MODEL_CLASSIFY,
    .models = models,
    .reads = reads,
    .no_decay = no_decay,
    .layers = layers,
    .grids = grids,
    .computed = computed,
    .default_stages = 3, /* timm's */
    .cam = ".norm1",
    .build = beit_build,
    .check = check,
};
