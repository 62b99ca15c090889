#include "models/convnext.h"

#include "models/rows.h"
#include "models/stages.h"
#include "ops/add.h"
#include "ops/conv2d.h"
#include "ops/dropout.h"
#include "ops/activation.h"
#include "ops/global_avgpool.h"
#include "ops/layer_scale.h"
#include "ops/layernorm.h"
#include "ops/linear.h"
#include "ops/view.h"

/* A net under construction. */
struct net {
    struct builder *b;
    const struct model_options *o;
    int init; /* enum init_rule */
    int block, nblock;
};

static const float eps = 1e-6f;

static const char *at(const struct net *v, const char *prefix, const char *suffix)
{
    return arena_printf(&v->b->g->arena, "%s.%s", prefix, suffix);
}

/* Normalizes the channels of each pixel: plain tokens. */
static struct tensor *norm(struct net *v, struct tensor *x, const char *name)
{
    return layernorm(v->b, view_tokens(v->b, x, name), name, .eps = eps);
}

static struct tensor *patches(struct net *v, struct tensor *x, const char *name, int out,
                              int side)
{
    return conv2d(v->b, x, name, .out = out, .kernel = side, .stride = side, .bias = 1,
                  .init = v->init, .bias_init = INIT_RULE_ZERO);
}

static struct tensor *dense(struct net *v, struct tensor *x, const char *name, int out)
{
    return linear(v->b, x, name, .out = out, .bias = 1, .init = v->init,
                  .bias_init = INIT_RULE_ZERO);
}

static struct tensor *block(struct net *v, struct tensor *x, const char *p)
{
    float rate =
        v->nblock > 1 ? (float)(v->o->drop_path * v->block / (v->nblock - 1)) : 0;
    int c = (int)x->dim[1];
    struct tensor *y, *gamma = layer_scale_gamma(v->b, p, c, 1e-6f); /* timm's order */

    scope_begin(v->b);
    y = conv2d(v->b, x, at(v, p, "conv_dw"), .out = c, .kernel = 7, .padding = 3,
               .groups = c, .bias = 1, .init = v->init, .bias_init = INIT_RULE_ZERO);
    y = norm(v, y, at(v, p, "norm"));
    y = gelu(v->b, dense(v, y, at(v, p, "mlp.fc1"), 4 * c), at(v, p, "mlp.act"));
    y = dense(v, y, at(v, p, "mlp.fc2"), c);
    y = layer_scale(v->b, y, p, .gamma = gamma);
    y = view_image(v->b, y, at(v, p, "gamma"));
    y = drop_path(v->b, y, at(v, p, "drop_path"), .rate = rate);
    x = add(v->b, y, x, at(v, p, "add"));
    scope_end(v->b);
    v->block++;
    return x;
}

static struct tensor *stage(struct net *v, struct tensor *x, int i, int depth, int width)
{
    const char *p = arena_printf(&v->b->g->arena, "stages.%d", i);

    if (i > 0) {
        x = norm(v, x, at(v, p, "downsample.0"));
        x = patches(v, view_image(v->b, x, at(v, p, "downsample")),
                    at(v, p, "downsample.1"), width, 2);
    }
    for (int k = 0; k < depth; k++)
        x = block(v, x, arena_printf(&v->b->g->arena, "%s.blocks.%d", p, k));
    return x;
}

static struct tensor *convnext_build(struct builder *b, const void *arch,
                                     const struct model_options *o, struct tensor *x)
{
    const struct convnext *a = arch;
    struct net v = {
        .b = b, .o = o, .init = o->init ? o->init : INIT_RULE_TRUNC_NORMAL_02};

    for (int i = 0; i < CONVNEXT_STAGES; i++)
        v.nblock += a->depth[i];
    x = norm(&v, patches(&v, x, "stem.0", a->width[0], 4), "stem.1");
    x = view_image(b, x, "stem");
    for (int i = 0; i < CONVNEXT_STAGES; i++) {
        x = stage(&v, x, i, a->depth[i], a->width[i]);
        if (model_stage(o, arena_printf(&b->g->arena, "stages.%d", i), 4 << i, x))
            return NULL;
    }
    x = norm(&v, global_avgpool(b, x, "head.global_pool"), "head.norm");
    x = view_image(b, x, "head");
    x = dropout(b, x, "head.drop", .rate = (float)o->drop_rate);
    return dense(&v, x, "head.fc", (int)o->classes);
}

static const char *const *check(const struct model *m, const struct model_options *o,
                                int height, int width, struct strbuf *why)
{
    static const char *const size[] = {"DATA.IMG_SIZE", "MODEL.NAME", NULL};

    (void)o;
    if (height >= 32 && width >= 32)
        return NULL;
    strbuf_addf(why, "%s needs images of at least 32 pixels a side, not %d", m->name,
                height < width ? height : width);
    return size;
}

static const char *const reads[] = {"MODEL.NUM_CLASSES", "MODEL.DROP_RATE",
                                    "MODEL.DROP_PATH_RATE", "MODEL.INIT", NULL};

/* clang-format off */
#define CONVNEXT(...) \
    .family = &convnext_family, .classes = 1000, .arch = &(const struct convnext){__VA_ARGS__}

static const struct model models[] = {
    {ROW(convnext_tiny), CONVNEXT({3, 3, 9, 3}, {96, 192, 384, 768}), IMAGENET(224, 0.95), RECIPE "convnext_tiny.yaml",
     TAGS "in12k_ft_in1k in12k_ft_in1k_384 in12k fb_in22k_ft_in1k fb_in1k fb_in22k_ft_in1k_384 fb_in22k"},
    {ROW(convnext_small), CONVNEXT({3, 3, 27, 3}, {96, 192, 384, 768}), IMAGENET(224, 0.95),
     TAGS "in12k_ft_in1k in12k_ft_in1k_384 in12k fb_in22k_ft_in1k fb_in1k fb_in22k_ft_in1k_384 fb_in22k"},
    {ROW(convnext_base), CONVNEXT({3, 3, 27, 3}, {128, 256, 512, 1024}), IMAGENET(224, 0.875),
     TAGS "fb_in22k_ft_in1k fb_in1k fb_in22k_ft_in1k_384 fb_in22k clip_laion2b_augreg_ft_in12k_in1k "
     "clip_laion2b_augreg_ft_in12k_in1k_384 clip_laion2b_augreg_ft_in1k clip_laiona_augreg_ft_in1k_384 "
     "clip_laion2b_augreg_ft_in12k clip_laion2b clip_laion2b_augreg clip_laiona clip_laiona_320 "
     "clip_laiona_augreg_320"},
    {.name = NULL},
};
/* clang-format on */

/* As in timm, a downsampling belongs to the layer of the next block. */
static const struct layer_rule layers[] = {
    {.pattern = "^stem", .group = 0},
    {.pattern = "^stages\\.([0-9]+)\\.downsample",
     .group = 1,
     .then = 0,
     .has_then = true},
    {.pattern = "^stages\\.([0-9]+)\\.blocks\\.([0-9]+)", .group = 1},
    {.pattern = NULL},
};

const struct model_family convnext_family = {
    .type = "convnext",
    .layer_norm = true,
    .task = MODEL_CLASSIFY,
    .models = models,
    .reads = reads,
    .layers = layers,
    .build = convnext_build,
    .check = check,
};
