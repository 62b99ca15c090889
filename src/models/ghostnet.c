#include "models/ghostnet.h"

#include "models/blocks.h"
#include "models/image_size.h"
#include "models/rows.h"
#include "models/stages.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/avgpool2d.h"
#include "ops/batchnorm.h"
#include "ops/concat.h"
#include "ops/conv2d.h"
#include "ops/dropout.h"
#include "ops/expr.h"
#include "ops/global_avgpool.h"
#include "ops/image.h"
#include "ops/linear.h"
#include "ops/resample.h"

enum { FEATURES = 1280, UNGATED = 2 };

/* Rounds to a multiple of 4 that is at least 90 % of the width. */
static int round_width(double width)
{
    int w = (int)(width + 2) / 4 * 4;

    w = w < 4 ? 4 : w;
    return w < 0.9 * width ? w + 4 : w;
}

static int scale_width(const struct ghostnet *a, int width)
{
    return round_width(width * (a->width > 0 ? a->width : 1));
}

/* Figure 1b: a 1x1 convolution makes half of the channels, and a depthwise one of those the
 * other half. `act`: with ReLU after both. */
static struct tensor *ghost(struct net *n, struct tensor *x, const char *p, int out,
                            bool act)
{
    struct tensor *part[2];

    part[0] = conv_bn(n, x, p, "primary_conv.0", "primary_conv.1",
                      act ? "primary_conv.2" : NULL, .out = out / 2, .kernel = 1);
    part[1] = conv_bn(n, part[0], p, "cheap_operation.0", "cheap_operation.1",
                      act ? "cheap_operation.2" : NULL, .out = out / 2, .kernel = 3,
                      .groups = out / 2);
    return concat(n->b, part, 2, layer_name(n, p, "concat"));
}

/* V2, figure 4: depthwise convolutions along both axes of a map of half the size. Returns
 * y times their sigmoid. */
static struct tensor *gate(struct net *n, struct tensor *x, struct tensor *y,
                           const char *p)
{
    int out = (int)y->dim[IMAGE_C], height = (int)y->dim[IMAGE_H];
    struct tensor *in[2] = {y, NULL};
    struct expr e;

    x = avgpool2d(n->b, x, layer_name(n, p, "pool"), .kernel = 2);
    x = conv_bn(n, x, p, "short_conv.0", "short_conv.1", NULL, .out = out, .kernel = 1);
    x = conv2d(n->b, x, layer_name(n, p, "short_conv.2"), .out = out, .kernel_h = 1,
               .kernel_w = 5, .pad_w = 2, .groups = out, .init = n->init);
    x = batchnorm(n->b, x, layer_name(n, p, "short_conv.3"));
    x = conv2d(n->b, x, layer_name(n, p, "short_conv.4"), .out = out, .kernel_h = 5,
               .kernel_w = 1, .pad_h = 2, .groups = out, .init = n->init);
    x = batchnorm(n->b, x, layer_name(n, p, "short_conv.5"));
    x = sigmoid(n->b, x, layer_name(n, p, "gate_fn"));
    in[1] = resample(n->b, x, layer_name(n, p, "up"), .mode = RESAMPLE_NEAREST,
                     .out_h = height, .out_w = (int)y->dim[IMAGE_W]);
    e = expr_start(layer_name(n, p, "mul"), 2, in);
    return expr_end(n->b, &e, expr_add(&e, EXPR_MUL, 0, 1));
}

static struct tensor *shortcut(struct net *n, struct tensor *x, const char *p, int out,
                               int kernel, int stride)
{
    int in = (int)x->dim[IMAGE_C];

    p = layer_name(n, p, "shortcut");
    x = conv_bn(n, x, p, "0", "1", NULL, .out = in, .kernel = kernel, .stride = stride,
                .groups = in);
    return conv_bn(n, x, p, "2", "3", NULL, .out = out, .kernel = 1);
}

static struct tensor *bottleneck(struct net *n, struct tensor *x, const char *p,
                                 const struct ghostnet *a, const struct ghost_block *r)
{
    int inside = scale_width(a, r->inside), out = scale_width(a, r->out);
    int stride = r->stride > 1 ? net_stride(n, r->stride) : 1;
    const char *first = layer_name(n, p, "ghost1");
    struct tensor *y;

    scope_begin(n->b);
    y = ghost(n, x, first, inside, true);
    if (a->v2 && n->block++ >= UNGATED)
        y = gate(n, x, y, first);
    if (r->stride > 1)
        y = conv_bn(n, y, p, "conv_dw", "bn_dw", NULL, .out = inside, .kernel = r->kernel,
                    .stride = stride, .groups = inside);
    if (r->squeeze)
        y = squeeze_excite(n, y, layer_name(n, p, "se"),
                           .width = round_width(0.25 * inside), .fc1 = "conv_reduce",
                           .fc2 = "conv_expand", .gate = "hardsigmoid",
                           .bias_init = n->o->init ? INIT_RULE_ZERO : n->init);
    y = ghost(n, y, layer_name(n, p, "ghost2"), out, false);
    if (r->stride > 1 || x->dim[IMAGE_C] != out)
        x = shortcut(n, x, p, out, r->kernel, stride);
    y = add(n->b, y, x, layer_name(n, p, "add"));
    scope_end(n->b);
    return y;
}

/* Returns NULL if the net ends with one of the stages, which are those with a stride. */
static struct tensor *stages(struct net *n, struct tensor *x, const struct ghostnet *a)
{
    struct arena *mem = &n->b->g->arena;
    int stage = -1, index = 0, inside = 0;

    x = conv2d(n->b, x, "conv_stem", .out = scale_width(a, 16), .kernel = 3, .padding = 1,
               .stride = net_stride(n, 2), .init = n->init);
    if (model_stage(n->o, "conv_stem", n->reduction, x))
        return NULL;
    x = relu(n->b, batchnorm(n->b, x, "bn1"), "act1");
    for (const struct ghost_block *r = a->blocks; r->kernel; r++) {
        index = r->same_stage ? index + 1 : 0;
        stage += !r->same_stage;
        x = bottleneck(n, x, arena_printf(mem, "blocks.%d.%d", stage, index), a, r);
        if (r->stride > 1 &&
            model_stage(n->o, arena_printf(mem, "blocks.%d", stage), n->reduction, x))
            return NULL;
        inside = r->inside;
    }
    return conv_bn(n, x, arena_printf(mem, "blocks.%d.0", stage + 1), "conv", "bn1",
                   "act", .out = scale_width(a, inside), .kernel = 1);
}

static struct tensor *ghostnet_build(struct builder *b, const void *arch,
                                     const struct model_options *o, struct tensor *x)
{
    struct net n = {
        .b = b, .o = o, .init = o->init ? o->init : INIT_RULE_PYTORCH, .reduction = 1};

    x = stages(&n, x, arch);
    if (!x)
        return NULL;
    x = global_avgpool(b, x, "global_pool");
    x = conv_bias(&n, x, "conv_head", FEATURES, 1, o->init ? INIT_RULE_ZERO : n.init);
    x = relu(b, x, "act2");
    x = dropout(b, x, "drop", .rate = (float)o->drop_rate);
    return linear(b, x, "classifier", .out = (int)o->classes, .bias = 1, .init = n.init,
                  .bias_init = o->init ? INIT_RULE_ZERO : n.init);
}

static const char *const *check(const struct model *m, const struct model_options *o,
                                int height, int width, struct strbuf *why)
{
    const struct ghostnet *a = m->arch;
    int64_t strides = 1 - o->skip_strides;

    for (const struct ghost_block *r = a->blocks; r->kernel; r++)
        strides += r->stride > 1;
    return a->v2 ? size_at_least(m, strides > 0 ? (1 << strides) + 1 : 2, height, width,
                                 why)
                 : NULL;
}

static const char *const reads[] = {"MODEL.NUM_CLASSES", "MODEL.DROP_RATE", "MODEL.INIT",
                                    "MODEL.SKIP_STRIDES", NULL};

/* Table 1. */
static const struct ghost_block blocks[] = {
    {GHOST(3, 16, 16, 1)},
    {GHOST(3, 48, 24, 2)},
    {GHOST(3, 72, 24, 1)},
    {GHOST(5, 72, 40, 2), .squeeze = true},
    {GHOST(5, 120, 40, 1), .squeeze = true},
    {GHOST(3, 240, 80, 2)},
    {GHOST(3, 200, 80, 1)},
    {GHOST(3, 184, 80, 1), .same_stage = true},
    {GHOST(3, 184, 80, 1), .same_stage = true},
    {GHOST(3, 480, 112, 1), .same_stage = true, .squeeze = true},
    {GHOST(3, 672, 112, 1), .same_stage = true, .squeeze = true},
    {GHOST(5, 672, 160, 2), .squeeze = true},
    {GHOST(5, 960, 160, 1)},
    {GHOST(5, 960, 160, 1), .same_stage = true, .squeeze = true},
    {GHOST(5, 960, 160, 1), .same_stage = true},
    {GHOST(5, 960, 160, 1), .same_stage = true, .squeeze = true},
    {0},
};

#define GHOSTNET(...)                                                                    \
    .family = &ghostnet_family, .classes = 1000, .arch = &(const struct ghostnet)        \
    {                                                                                    \
        .blocks = blocks, __VA_ARGS__                                                    \
    }
#define V2 .v2 = true

/* clang-format off */
static const struct model models[] = {
    {ROW(ghostnet_050), GHOSTNET(.width = 0.5), IMAGENET(224, 0.875), TAGS ""},
    {ROW(ghostnet_100), GHOSTNET(.width = 1.0), IMAGENET(224, 0.875), TAGS "in1k"},
    {ROW(ghostnet_130), GHOSTNET(.width = 1.3), IMAGENET(224, 0.875), TAGS ""},
    {ROW(ghostnetv2_100), GHOSTNET(.width = 1.0, V2), IMAGENET(224, 0.875), TAGS "in1k"},
    {ROW(ghostnetv2_130), GHOSTNET(.width = 1.3, V2), IMAGENET(224, 0.875), TAGS "in1k"},
    {ROW(ghostnetv2_160), GHOSTNET(.width = 1.6, V2), IMAGENET(224, 0.875), TAGS "in1k"},
    {.name = NULL},
};
/* clang-format on */

/* Same as timm's GhostNet.group_matcher. */
static const struct layer_rule layers[] = {
    {.pattern = "^(conv_stem|bn1)\\.", .group = 0},
    {.pattern = "^blocks\\.([0-9]+)\\.([0-9]+)", .group = 1},
    {.pattern = "^conv_head\\.", .group = 1, .joins = true},
    {.pattern = NULL},
};

const struct model_family ghostnet_family = {
    .type = "ghostnet",
    .task = MODEL_CLASSIFY,
    .models = models,
    .reads = reads,
    .layers = layers,
    .build = ghostnet_build,
    .check = check,
};
