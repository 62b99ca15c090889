#include "models/bisenet.h"

#include "models/blocks.h"
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
#include "ops/maxpool2d.h"
#include "ops/resample.h"

enum { STAGES = 4, EXPANSION = 6, FUSED = 128, HEAD = 1024 };

/* Table 1. */
static const int detail_width[] = {64, 64, 128};
static const int width[STAGES] = {16, 32, 64, 128};
static const int aux_width[STAGES] = {16, 64, 256, HEAD};
static const double aux_weight = 1;

/* Convolution and batch norm as mmcv's ConvModule names them, then ReLU if `act`. */
struct module_attrs {
    const char *prefix;
    int out, kernel, stride, groups;
    bool act;
};

#define module(n, x, ...)                                                                \
    module_((n), (x), &(const struct module_attrs){.prefix = __VA_ARGS__})
static struct tensor *module_(struct net *n, struct tensor *x,
                              const struct module_attrs *a)
{
    return conv_bn(n, x, a->prefix, "conv", "bn", a->act ? "activate" : NULL,
                   .out = a->out, .kernel = a->kernel, .stride = a->stride,
                   .groups = a->groups);
}

static struct tensor *detail_branch(struct net *n, struct tensor *x)
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < (i ? 3 : 2); k++)
            x = module(n, x,
                       arena_printf(&n->b->g->arena,
                                    "backbone.detail.detail_branch.%d.%d", i, k),
                       .out = detail_width[i], .kernel = 3, .stride = k ? 1 : 2,
                       .act = true);
    return x;
}

/* Figure 4a. */
static struct tensor *stem(struct net *n, struct tensor *x, const char *p)
{
    int out = width[0];
    struct tensor *part[2];

    x = module(n, x, layer_name(n, p, "conv_first"), .out = out, .kernel = 3, .stride = 2,
               .act = true);
    part[0] = module(n, x, layer_name(n, p, "convs.0"), .out = out / 2, .kernel = 1,
                     .act = true);
    part[0] = module(n, part[0], layer_name(n, p, "convs.1"), .out = out, .kernel = 3,
                     .stride = 2, .act = true);
    part[1] = maxpool2d(n->b, x, layer_name(n, p, "pool"), .kernel = 3, .stride = 2,
                        .padding = 1);
    x = concat(n->b, part, 2, layer_name(n, p, "concat"));
    return module(n, x, layer_name(n, p, "fuse_last"), .out = out, .kernel = 3,
                  .act = true);
}

/* The gather-and-expansion layer, figure 5. */
static struct tensor *expand(struct net *n, struct tensor *x, const char *p, int out,
                             int stride)
{
    int in = (int)x->dim[IMAGE_C], wide = EXPANSION * in;
    struct tensor *shortcut = x;

    x = module(n, x, layer_name(n, p, "conv1"), .out = in, .kernel = 3, .act = true);
    x = module(n, x, layer_name(n, p, "dwconv.0"), .out = wide, .kernel = 3,
               .stride = stride, .groups = in, .act = stride == 1);
    if (stride > 1) {
        x = module(n, x, layer_name(n, p, "dwconv.1"), .out = wide, .kernel = 3,
                   .groups = wide, .act = true);
        shortcut = module(n, shortcut, layer_name(n, p, "shortcut.0.depthwise_conv"),
                          .out = in, .kernel = 3, .stride = stride, .groups = in);
        shortcut = module(n, shortcut, layer_name(n, p, "shortcut.0.pointwise_conv"),
                          .out = out, .kernel = 1);
    }
    x = module(n, x, layer_name(n, p, "conv2.0"), .out = out, .kernel = 1);
    return relu(n->b, add(n->b, x, shortcut, layer_name(n, p, "add")),
                layer_name(n, p, "act"));
}

/* The context embedding block, figure 4b. */
static struct tensor *context(struct net *n, struct tensor *x, const char *p)
{
    int out = (int)x->dim[IMAGE_C];
    struct tensor *y = global_avgpool(n->b, x, layer_name(n, p, "gap.0"));

    y = batchnorm(n->b, y, layer_name(n, p, "gap.1"));
    y = module(n, y, layer_name(n, p, "conv_gap"), .out = out, .kernel = 1, .act = true);
    y = resample(n->b, y, layer_name(n, p, "up"), .out_h = (int)x->dim[IMAGE_H],
                 .out_w = (int)x->dim[IMAGE_W]);
    x = add(n->b, x, y, layer_name(n, p, "add"));
    return module(n, x, layer_name(n, p, "conv_last"), .out = out, .kernel = 3,
                  .act = true);
}

/* Returns the end of the branch, and its stages in `map`. */
static struct tensor *semantic_branch(struct net *n, struct tensor *x,
                                      struct tensor *map[STAGES])
{
    struct arena *mem = &n->b->g->arena;

    map[0] = stem(n, x, "backbone.semantic.stage1");
    for (int i = 1; i < STAGES; i++) {
        map[i] = map[i - 1];
        for (int k = 0; k < (i == STAGES - 1 ? 4 : 2); k++)
            map[i] = expand(n, map[i],
                            arena_printf(mem, "backbone.semantic.stage%d.%d", i + 1, k),
                            width[i], k ? 1 : 2);
    }
    return context(n, map[STAGES - 1], "backbone.semantic.stage4_CEBlock");
}

/* Depthwise convolution with batch norm, then 1x1 convolution with bias. */
static struct tensor *separable(struct net *n, struct tensor *x, const char *p)
{
    x = module(n, x, layer_name(n, p, "0.depthwise_conv"), .out = FUSED, .kernel = 3,
               .groups = FUSED);
    return conv_bias(n, x, layer_name(n, p, "0.pointwise_conv.conv"), FUSED, 1,
                     INIT_RULE_ZERO);
}

static struct tensor *resized(struct net *n, struct tensor *x, const struct tensor *like,
                              const char *name)
{
    return resample(n->b, x, name, .out_h = (int)like->dim[IMAGE_H],
                    .out_w = (int)like->dim[IMAGE_W]);
}

/* x sigmoid(gate) */
static struct tensor *gated(struct net *n, struct tensor *x, struct tensor *gate,
                            const char *name)
{
    struct expr e = expr_start(name, 2, (struct tensor *[]){x, gate});

    return expr_end(n->b, &e, expr_add(&e, EXPR_MUL, 0, expr_add(&e, EXPR_SIGMOID, 1)));
}

/* The bilateral guided aggregation, figure 6. */
static struct tensor *aggregate(struct net *n, struct tensor *detail,
                                struct tensor *semantic)
{
    struct tensor *fine = separable(n, detail, "backbone.bga.detail_dwconv"), *coarse;
    struct tensor *down = module(n, detail, "backbone.bga.detail_down.0", .out = FUSED,
                                 .kernel = 3, .stride = 2);
    struct tensor *gate;

    down = avgpool2d(n->b, down, "backbone.bga.detail_down.1", .kernel = 3, .stride = 2,
                     .padding = 1, .count_include_pad = 1);
    gate = module(n, semantic, "backbone.bga.semantic_conv.0", .out = FUSED, .kernel = 3);
    gate = resized(n, gate, fine, "backbone.bga.semantic_conv.up");
    fine = gated(n, fine, gate, "backbone.bga.fine");
    gate = separable(n, semantic, "backbone.bga.semantic_dwconv");
    coarse = gated(n, down, gate, "backbone.bga.coarse");
    coarse = resized(n, coarse, fine, "backbone.bga.up");
    return module(n, add(n->b, fine, coarse, "backbone.bga.add"), "backbone.bga.conv",
                  .out = FUSED, .kernel = 3, .act = true);
}

/* Returns logits of the size of `image`. */
static struct tensor *head(struct net *n, struct tensor *x, const char *p, int convs,
                           int out, float drop, const struct tensor *image)
{
    for (int i = 0; i < convs; i++)
        x = module(n, x, arena_printf(&n->b->g->arena, "%s.convs.%d", p, i), .out = out,
                   .kernel = 3, .act = true);
    x = dropout2d(n->b, x, layer_name(n, p, "dropout"), .rate = drop);
    x = conv2d(n->b, x, layer_name(n, p, "conv_seg"), .out = (int)n->o->classes,
               .kernel = 1, .bias = 1,
               .init = n->o->init ? n->o->init : INIT_RULE_NORMAL_01,
               .bias_init = INIT_RULE_ZERO);
    return resized(n, x, image, layer_name(n, p, "up"));
}

static struct tensor *bisenet_build(struct builder *b, const void *arch,
                                    const struct model_options *o, struct tensor *image)
{
    const struct bisenet *a = arch;
    struct net n = {.b = b, .o = o, .init = o->init ? o->init : INIT_RULE_KAIMING_NORMAL};
    struct tensor *map[STAGES], *x = detail_branch(&n, image);

    x = aggregate(&n, x, semantic_branch(&n, image, map));
    if (model_stage(o, "backbone", 8, x))
        return NULL;
    x = head(&n, x, "decode_head", 1, HEAD, a->drop, image);
    for (int i = 0; i < STAGES && model_aux_weight(o, aux_weight) != 0; i++) {
        char *p = arena_printf(&b->g->arena, "auxiliary_head.%d", i);

        model_aux(o, head(&n, map[i], p, 2, aux_width[i], a->drop, image), aux_weight);
    }
    return x;
}

static const struct model models[] = {
    {ROW(bisenetv2), .family = &bisenet_family, .classes = 19, .label_divisor = 1,
     .tags = "", .arch = &(const struct bisenet){.drop = 0.1f}, IMAGENET(1024, 1)},
    {.name = NULL},
};

static const char *const reads[] = {"MODEL.NUM_CLASSES", "MODEL.INIT", "MODEL.AUX_WEIGHT",
                                    NULL};
static const char *const heads[] = {
    "decode_head.conv_seg",      "auxiliary_head.0.conv_seg", "auxiliary_head.1.conv_seg",
    "auxiliary_head.2.conv_seg", "auxiliary_head.3.conv_seg", NULL};
static const char *const aux[] = {"auxiliary_head", NULL};

const struct model_family bisenet_family = {
    .type = "bisenet",
    .task = MODEL_SEGMENT,
    .models = models,
    .reads = reads,
    .heads = heads,
    .aux = aux,
    .build = bisenet_build,
};
