#include "models/vgg.h"

#include "models/blocks.h"
#include "models/image_size.h"
#include "models/rows.h"
#include "models/stages.h"
#include "ops/activation.h"
#include "ops/avgpool2d.h"
#include "ops/batchnorm.h"
#include "ops/conv2d.h"
#include "ops/dropout.h"
#include "ops/global_avgpool.h"
#include "ops/image.h"
#include "ops/linear.h"
#include "ops/maxpool2d.h"

enum { MAP = 7 }; /* smallest height and width of the map that the head reads */

/* A net under construction: `layer` counts as timm's `features`, a list of layers. */
struct vgg_net {
    struct net n;
    int layer;
};

static const char *next_name(struct vgg_net *v)
{
    return arena_printf(&v->n.b->g->arena, "features.%d", v->layer++);
}

static const char *last_name(const struct vgg_net *v)
{
    return arena_printf(&v->n.b->g->arena, "features.%d", v->layer - 1);
}

static struct tensor *stage(struct vgg_net *v, struct tensor *x, const struct vgg *a,
                            int depth, int width)
{
    scope_begin(v->n.b);
    for (int i = 0; i < depth; i++) {
        x = conv_bias(&v->n, x, next_name(v), width, 3, INIT_RULE_ZERO);
        if (a->norm)
            x = batchnorm(v->n.b, x, next_name(v));
        x = relu(v->n.b, x, next_name(v));
    }
    scope_end(v->n.b);
    return x;
}

static int at_least(int64_t side)
{
    return side < MAP ? MAP : (int)side;
}

static struct tensor *head(struct net *n, struct tensor *x, int hidden)
{
    int height = at_least(x->dim[IMAGE_H]), width = at_least(x->dim[IMAGE_W]);
    float rate = (float)n->o->drop_rate;

    if (height > x->dim[IMAGE_H] || width > x->dim[IMAGE_W])
        x = avgpool2d(n->b, x, "pre_logits.pool", .out_h = height, .out_w = width);
    x = conv2d(n->b, x, "pre_logits.fc1", .out = hidden, .kernel = MAP, .bias = 1,
               .init = n->init, .bias_init = INIT_RULE_ZERO);
    x = relu(n->b, x, "pre_logits.act1");
    x = dropout(n->b, x, "pre_logits.drop", .rate = rate);
    x = conv_bias(n, x, "pre_logits.fc2", hidden, 1, INIT_RULE_ZERO);
    x = relu(n->b, x, "pre_logits.act2");
    x = global_avgpool(n->b, x, "head.global_pool");
    x = dropout(n->b, x, "head.drop", .rate = rate);
    return linear(n->b, x, "head.fc", .out = (int)n->o->classes, .bias = 1,
                  .init = n->o->init ? n->o->init : INIT_RULE_NORMAL_01,
                  .bias_init = INIT_RULE_ZERO);
}

static struct tensor *vgg_build(struct builder *b, const void *arch,
                                const struct model_options *o, struct tensor *x)
{
    const struct vgg *a = arch;
    struct vgg_net v = {.n = {.b = b, .o = o, .init = o->init, .reduction = 1}};

    for (int i = 0; i < VGG_STAGES && a->depth[i]; i++) {
        const char *pool;

        x = stage(&v, x, a, a->depth[i], a->width << (i < 3 ? i : 3));
        if (model_stage(o, last_name(&v), v.n.reduction, x))
            return NULL;
        pool = next_name(&v);
        if (net_stride(&v.n, 2) > 1)
            x = maxpool2d(b, x, pool, .kernel = 2);
    }
    if (model_stage(o, last_name(&v), v.n.reduction, x))
        return NULL;
    return head(&v.n, x, a->hidden);
}

static const char *const *check(const struct model *m, const struct model_options *o,
                                int height, int width, struct strbuf *why)
{
    const struct vgg *a = m->arch;
    int poolings = 0;

    while (poolings < VGG_STAGES && a->depth[poolings])
        poolings++;
    return size_for_halvings(m, o, poolings, height, width, why);
}

static const char *const reads[] = {"MODEL.NUM_CLASSES", "MODEL.DROP_RATE", "MODEL.INIT",
                                    "MODEL.SKIP_STRIDES", NULL};

#define VGG(has_norm, ...)                                                               \
    .family = &vgg_family, .classes = 1000, .bilinear = true,                            \
    .arch = &(const struct vgg)                                                          \
    {                                                                                    \
        .norm = (has_norm), .depth = {__VA_ARGS__}, .width = 64, .hidden = 4096          \
    }

/* clang-format off */
static const struct model models[] = {
    {ROW(vgg11), VGG(false, 1, 1, 2, 2, 2), IMAGENET(224, 0.875), TAGS "tv_in1k"},
    {ROW(vgg11_bn), VGG(true, 1, 1, 2, 2, 2), IMAGENET(224, 0.875), TAGS "tv_in1k"},
    {ROW(vgg13), VGG(false, 2, 2, 2, 2, 2), IMAGENET(224, 0.875), TAGS "tv_in1k"},
    {ROW(vgg13_bn), VGG(true, 2, 2, 2, 2, 2), IMAGENET(224, 0.875), TAGS "tv_in1k"},
    {ROW(vgg16), VGG(false, 2, 2, 3, 3, 3), IMAGENET(224, 0.875), TAGS "tv_in1k"},
    {ROW(vgg16_bn), VGG(true, 2, 2, 3, 3, 3), IMAGENET(224, 0.875), RECIPE "vgg16_bn.yaml", TAGS "tv_in1k"},
    {ROW(vgg19), VGG(false, 2, 2, 4, 4, 4), IMAGENET(224, 0.875), TAGS "tv_in1k"},
    {ROW(vgg19_bn), VGG(true, 2, 2, 4, 4, 4), IMAGENET(224, 0.875), TAGS "tv_in1k"},
    {.name = NULL},
};
/* clang-format on */

/* Same as timm's VGG.group_matcher: each layer, also batch norms. */
static const struct layer_rule layers[] = {
    {.pattern = "^features\\.0\\.", .group = 0},
    {.pattern = "^features\\.([0-9]+)", .group = 1},
    {.pattern = NULL},
};

const struct model_family vgg_family = {
    .type = "vgg",
    .task = MODEL_CLASSIFY,
    .models = models,
    .reads = reads,
    .layers = layers,
    .build = vgg_build,
    .check = check,
};
