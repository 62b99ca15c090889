#include "models/mit.h"

#include "models/attend.h"
#include "models/blocks.h"
#include "models/image_size.h"
#include "models/rows.h"
#include "models/stages.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/conv2d.h"
#include "ops/dropout.h"
#include "ops/global_avgpool.h"
#include "ops/layernorm.h"
#include "ops/linear.h"
#include "ops/view.h"

static const int heads[MIT_STAGES] = {1, 2, 5, 8};
static const int reductions[MIT_STAGES] = {8, 4, 2, 1}; /* of keys' and values' sides */
static const float eps = 1e-6f;

static int linear_init(const struct net *n)
{
    return n->o->init ? n->o->init : INIT_RULE_TRUNC_NORMAL_02;
}

static struct tensor *dense(struct net *n, struct tensor *x, const char *name, int out)
{
    return linear(n->b, x, name, .out = out, .bias = 1, .init = linear_init(n),
                  .bias_init = INIT_RULE_ZERO);
}

/* Section 3.1, equations 1 and 2; x is plain [N,H,W,C]. */
static struct tensor *attention(struct net *n, struct tensor *x, const char *p, int stage)
{
    int c = (int)x->dim[3];
    struct tensor *q = dense(n, x, layer_name(n, p, "q"), c), *k, *v, *y;

    if (reductions[stage] > 1) {
        y = view_image(n->b, x, layer_name(n, p, "image"));
        y = conv2d(n->b, y, layer_name(n, p, "sr"), .out = c, .kernel = reductions[stage],
                   .stride = reductions[stage], .bias = 1, .init = n->init,
                   .bias_init = INIT_RULE_ZERO);
        y = view_tokens(n->b, y, layer_name(n, p, "tokens"));
        x = layernorm(n->b, y, layer_name(n, p, "norm"));
    }
    y = dense(n, x, layer_name(n, p, "kv"), 2 * c);
    k = attend_part(n->b, y, layer_name(n, p, "k"), 0, 2);
    v = attend_part(n->b, y, layer_name(n, p, "v"), 1, 2);
    y = attend(n->b, q, k, v, p, .heads = heads[stage]);
    return dense(n, y, layer_name(n, p, "proj"), c);
}

/* Equation 3. */
static struct tensor *mix_ffn(struct net *n, struct tensor *x, const char *p)
{
    int c = (int)x->dim[3];

    x = dense(n, x, layer_name(n, p, "fc1"), 4 * c);
    x = view_image(n->b, x, layer_name(n, p, "image"));
    x = conv2d(n->b, x, layer_name(n, p, "dwconv.dwconv"), .out = 4 * c, .kernel = 3,
               .padding = 1, .groups = 4 * c, .bias = 1, .init = n->init,
               .bias_init = INIT_RULE_ZERO);
    x = gelu(n->b, view_tokens(n->b, x, layer_name(n, p, "tokens")),
             layer_name(n, p, "act"));
    return dense(n, x, layer_name(n, p, "fc2"), c);
}

static struct tensor *block(struct net *n, struct tensor *x, const char *p, int stage)
{
    double rate = n->nblock > 1 ? n->o->drop_path * n->block / (n->nblock - 1) : 0;
    struct tensor *y;

    scope_begin(n->b);
    y = layernorm(n->b, x, layer_name(n, p, "norm1"), .eps = eps);
    y = attention(n, y, layer_name(n, p, "attn"), stage);
    y = drop_path(n->b, y, layer_name(n, p, "drop_path1"), .rate = (float)rate);
    x = add(n->b, y, x, layer_name(n, p, "add1"));
    y = layernorm(n->b, x, layer_name(n, p, "norm2"), .eps = eps);
    y = mix_ffn(n, y, layer_name(n, p, "mlp"));
    y = drop_path(n->b, y, layer_name(n, p, "drop_path2"), .rate = (float)rate);
    x = add(n->b, y, x, layer_name(n, p, "add2"));
    scope_end(n->b);
    n->block++;
    return x;
}

/* Returns the normalized map of a stage, an image. */
static struct tensor *stage(struct net *n, const struct mit *a, struct tensor *x, int i)
{
    struct arena *mem = &n->b->g->arena;
    char *embed = arena_printf(mem, "patch_embed%d", i + 1);
    char *norm = arena_printf(mem, "norm%d", i + 1);
    int kernel = i ? 3 : 7;

    x = conv2d(n->b, x, layer_name(n, embed, "proj"), .out = a->width[i],
               .kernel = kernel, .stride = i ? 2 : 4, .padding = kernel / 2, .bias = 1,
               .init = n->init, .bias_init = INIT_RULE_ZERO);
    x = view_tokens(n->b, x, embed);
    x = layernorm(n->b, x, layer_name(n, embed, "norm"));
    for (int k = 0; k < a->depth[i]; k++)
        x = block(n, x, arena_printf(mem, "block%d.%d", i + 1, k), i);
    return view_image(n->b, layernorm(n->b, x, norm, .eps = eps), norm);
}

static struct tensor *mit_build(struct builder *b, const void *arch,
                                const struct model_options *o, struct tensor *x)
{
    const struct mit *a = arch;
    struct net n = {.b = b, .o = o, .init = o->init ? o->init : INIT_RULE_KAIMING_GROUPS};

    for (int i = 0; i < MIT_STAGES; i++)
        n.nblock += a->depth[i];
    for (int i = 0; i < MIT_STAGES; i++) {
        x = stage(&n, a, x, i);
        if (model_stage(o, arena_printf(&b->g->arena, "norm%d", i + 1), 4 << i, x))
            return NULL;
    }
    x = global_avgpool(b, x, "global_pool");
    x = dropout(b, x, "drop", .rate = (float)o->drop_rate);
    return dense(&n, x, "head", (int)o->classes);
}

static const char *const *check(const struct model *m, const struct model_options *o,
                                int height, int width, struct strbuf *why)
{
    (void)o;
    return size_multiple_of(m, 32, height, width, why);
}

#define LIST(...)                                                                        \
    {                                                                                    \
        __VA_ARGS__                                                                      \
    }
#define MIT(widths, depths)                                                              \
    .family = &mit_family, .classes = 1000, .tags = "", .arch = &(const struct mit)      \
    {                                                                                    \
        .width = widths, .depth = depths                                                 \
    }
#define NARROW LIST(32, 64, 160, 256)
#define WIDE   LIST(64, 128, 320, 512)

/* Table 6. */
static const struct model models[] = {
    {ROW(mit_b0), MIT(NARROW, LIST(2, 2, 2, 2)), IMAGENET(224, 0.9)},
    {ROW(mit_b1), MIT(WIDE, LIST(2, 2, 2, 2)), IMAGENET(224, 0.9)},
    {ROW(mit_b2), MIT(WIDE, LIST(3, 4, 6, 3)), IMAGENET(224, 0.9)},
    {ROW(mit_b3), MIT(WIDE, LIST(3, 4, 18, 3)), IMAGENET(224, 0.9)},
    {ROW(mit_b4), MIT(WIDE, LIST(3, 8, 27, 3)), IMAGENET(224, 0.9)},
    {ROW(mit_b5), MIT(WIDE, LIST(3, 6, 40, 3)), IMAGENET(224, 0.9)},
    {.name = NULL},
};

static const char *const reads[] = {"MODEL.NUM_CLASSES", "MODEL.DROP_RATE",
                                    "MODEL.DROP_PATH_RATE", "MODEL.INIT", NULL};

const struct model_family mit_family = {
    .type = "mit",
    .task = MODEL_CLASSIFY,
    .models = models,
    .reads = reads,
    .layer_norm = true,
    .build = mit_build,
    .check = check,
};
