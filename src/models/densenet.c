#include "models/densenet.h"

#include "base/error.h"
#include "models/blocks.h"
#include "models/image_size.h"
#include "models/rows.h"
#include "models/stages.h"
#include "ops/activation.h"
#include "ops/avgpool2d.h"
#include "ops/batchnorm.h"
#include "ops/concat.h"
#include "ops/conv2d.h"
#include "ops/dropout.h"
#include "ops/global_avgpool.h"
#include "ops/image.h"
#include "ops/linear.h"
#include "ops/maxpool2d.h"

enum { LAYERS = 128, BOTTLENECK = 4 };

static struct tensor *norm_relu(struct net *n, struct tensor *x, const char *p,
                                const char *norm)
{
    const char *layer = layer_name(n, p, norm);

    return relu(n->b, batchnorm(n->b, x, layer), layer_name(n, layer, "act"));
}

static struct tensor *conv(struct net *n, struct tensor *x, const char *p,
                           const char *layer, int out, int kernel)
{
    return conv2d(n->b, x, layer_name(n, p, layer), .out = out, .kernel = kernel,
                  .padding = kernel / 2, .init = n->init);
}

/* Returns NULL if the net ends with the stem's first stage. */
static struct tensor *stem(struct net *n, struct tensor *x, const struct densenet *a)
{
    const char *p = "features", *last = a->deep ? "features.norm2" : "features.norm0";
    int g = a->growth, stride = net_stride(n, 2);

    x = conv_bn(n, x, p, "conv0", "norm0", "norm0.act", .out = a->deep ? g : 2 * g,
                .kernel = a->deep ? 3 : 7, .stride = stride);
    if (a->deep) {
        x = conv_bn(n, x, p, "conv1", "norm1", "norm1.act", .out = g, .kernel = 3);
        x = conv_bn(n, x, p, "conv2", "norm2", "norm2.act", .out = 2 * g, .kernel = 3);
    }
    if (model_stage(n->o, last, n->reduction, x))
        return NULL;
    stride = net_stride(n, 2);
    if (stride > 1)
        x = maxpool2d(n->b, x, "features.pool0", .kernel = 3,
                      .stride = a->blur ? 1 : stride, .padding = 1);
    return stride > 1 && a->blur ? blur_pool(n, x, "features.pool0.1", 2) : x;
}

/* Figure 1: layer i reads the block's input and what the layers before it added. */
static struct tensor *dense_block(struct net *n, struct tensor *x, const char *p,
                                  int depth, int growth)
{
    struct tensor *part[LAYERS + 1] = {x};

    if (depth > LAYERS)
        BUG("a block of more than %d layers", LAYERS);
    for (int i = 0; i < depth; i++) {
        const char *layer = arena_printf(&n->b->g->arena, "%s.denselayer%d", p, i + 1);

        scope_begin(n->b);
        x = i ? concat(n->b, part, i + 1, layer_name(n, layer, "concat")) : x;
        x = norm_relu(n, x, layer, "norm1");
        x = conv(n, x, layer, "conv1", BOTTLENECK * growth, 1);
        x = norm_relu(n, x, layer, "norm2");
        part[i + 1] = conv(n, x, layer, "conv2", growth, 3);
        scope_end(n->b);
    }
    return concat(n->b, part, depth + 1, layer_name(n, p, "concat"));
}

/* Returns NULL if the net ends with its stage: smp's stages include this norm. */
static struct tensor *transition(struct net *n, struct tensor *x, const char *p)
{
    x = norm_relu(n, x, p, "norm");
    if (n->o->smp_stages && model_stage(n->o, layer_name(n, p, "norm"), n->reduction, x))
        return NULL;
    x = conv(n, x, p, "conv", (int)x->dim[IMAGE_C] / 2, 1);
    if (net_stride(n, 2) == 1)
        return x;
    return avgpool2d(n->b, x, layer_name(n, p, "pool"), .kernel = 2);
}

static struct tensor *densenet_build(struct builder *b, const void *arch,
                                     const struct model_options *o, struct tensor *x)
{
    const struct densenet *a = arch;
    struct net n = {.b = b,
                    .o = o,
                    .init = o->init ? o->init : INIT_RULE_KAIMING_FAN_IN,
                    .reduction = 1};

    x = stem(&n, x, a);
    for (int i = 0; x && i < DENSENET_BLOCKS && a->depth[i]; i++) {
        const char *name = arena_printf(&b->g->arena, "features.denseblock%d", i + 1);

        x = dense_block(&n, x, name, a->depth[i], a->growth);
        if (i + 1 == DENSENET_BLOCKS || !a->depth[i + 1])
            break;
        if (!o->smp_stages && model_stage(o, name, n.reduction, x))
            return NULL;
        x = transition(&n, x, arena_printf(&b->g->arena, "features.transition%d", i + 1));
    }
    if (!x)
        return NULL;
    x = batchnorm(b, x, "features.norm5");
    if (o->smp_stages && model_stage(o, "features.norm5", n.reduction, x))
        return NULL;
    x = relu(b, x, "features.norm5.act");
    if (!o->smp_stages && model_stage(o, "features.norm5", n.reduction, x))
        return NULL;
    x = global_avgpool(b, x, "global_pool");
    x = dropout(b, x, "head_drop", .rate = (float)o->drop_rate);
    return linear(b, x, "classifier", .out = (int)o->classes, .bias = 1, .init = o->init,
                  .bias_init = INIT_RULE_ZERO);
}

static const char *const *check(const struct model *m, const struct model_options *o,
                                int height, int width, struct strbuf *why)
{
    const struct densenet *a = m->arch;
    int blocks = 0;

    while (blocks < DENSENET_BLOCKS && a->depth[blocks])
        blocks++;
    return size_for_halvings(m, o, blocks + 1, height, width, why);
}

static const char *const reads[] = {"MODEL.NUM_CLASSES", "MODEL.DROP_RATE", "MODEL.INIT",
                                    "MODEL.SKIP_STRIDES", NULL};

#define DENSENET(k, ...)                                                                 \
    .family = &densenet_family, .classes = 1000, .arch = &(const struct densenet)        \
    {                                                                                    \
        .growth = (k), .depth = __VA_ARGS__                                              \
    }
#define DEPTH(...)                                                                       \
    {                                                                                    \
        __VA_ARGS__                                                                      \
    }

/* clang-format off */
static const struct model models[] = {
    {ROW(densenet121), DENSENET(32, DEPTH(6, 12, 24, 16)), IMAGENET(224, 0.875), RECIPE "densenet121.yaml",
     TAGS "ra_in1k tv_in1k"},
    {ROW(densenet161), DENSENET(48, DEPTH(6, 12, 36, 24)), IMAGENET(224, 0.875), TAGS "tv_in1k"},
    {ROW(densenet169), DENSENET(32, DEPTH(6, 12, 32, 32)), IMAGENET(224, 0.875), TAGS "tv_in1k"},
    {ROW(densenet201), DENSENET(32, DEPTH(6, 12, 48, 32)), IMAGENET(224, 0.875), TAGS "tv_in1k"},
    {ROW(densenet264d), DENSENET(48, DEPTH(6, 12, 64, 48), .deep = true), IMAGENET(224, 0.875), TAGS ""},
    {ROW(densenetblur121d), DENSENET(32, DEPTH(6, 12, 24, 16), .deep = true, .blur = true), IMAGENET(224, 0.875),
     TAGS "ra_in1k"},
    {.name = NULL},
};
/* clang-format on */

/* Same as timm's DenseNet.group_matcher: a transition belongs to the layer before it. */
static const struct layer_rule layers[] = {
    {.pattern = "^features\\.(conv|norm)[012]\\.", .group = 0},
    {.pattern = "^features\\.denseblock([0-9]+)\\.denselayer([0-9]+)", .group = 1},
    {.pattern = "^features\\.transition([0-9]+)", .group = 1, .joins = true},
    {.pattern = NULL},
};

const struct model_family densenet_family = {
    .type = "densenet",
    .task = MODEL_CLASSIFY,
    .models = models,
    .reads = reads,
    .layers = layers,
    .build = densenet_build,
    .check = check,
};
