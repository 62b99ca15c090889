#include "models/pyramid.h"

#include "base/error.h"
#include "models/backbone.h"
#include "models/image_size.h"
#include "models/rows.h"
#include "models/segment_heads.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/avgpool2d.h"
#include "ops/concat.h"
#include "ops/conv2d.h"
#include "ops/dropout.h"
#include "ops/groupnorm.h"
#include "ops/image.h"
#include "ops/layernorm.h"
#include "ops/linear.h"
#include "ops/resample.h"
#include "ops/view.h"

/* ---- FPN ---- */

enum { LEVELS = 4, PYRAMID = 256, SEGMENT = 128 };

static struct tensor *twice(struct net *n, struct tensor *x, const char *name, int mode)
{
    return resample(n->b, x, name, .mode = mode, .out_h = 2 * (int)x->dim[IMAGE_H],
                    .out_w = 2 * (int)x->dim[IMAGE_W],
                    .align_corners = mode == RESAMPLE_BILINEAR);
}

/* Section 3.1: 3x3 convolution, group norm, ReLU, and enlargement until x has the size of
 * the largest level. */
static struct tensor *segment_level(struct net *n, struct tensor *x, int level, int times)
{
    for (int i = 0; i < (times ? times : 1); i++) {
        char *p = arena_printf(&n->b->g->arena, "decoder.seg_blocks.%d.block.%d.block",
                               level, i);

        x = conv2d(n->b, x, layer_name(n, p, "0"), .out = SEGMENT, .kernel = 3,
                   .padding = 1, .init = n->init);
        x = groupnorm(n->b, x, layer_name(n, p, "1"), .groups = 32);
        x = relu(n->b, x, layer_name(n, p, "2"));
        if (times)
            x = twice(n, x, layer_name(n, p, "up"), RESAMPLE_BILINEAR);
    }
    return x;
}

static struct tensor *decode_fpn(struct net *n, const struct backbone *k, float drop)
{
    struct tensor *p[LEVELS], *sum;

    for (int i = 0; i < LEVELS; i++) {
        struct tensor *map = backbone_map_needed(n->b, k, 32 >> i);
        char *name = arena_printf(&n->b->g->arena,
                                  i ? "decoder.p%d.skip_conv" : "decoder.p%d", 5 - i);

        map = conv_bias(n, map, name, PYRAMID, 1, INIT_RULE_ZERO);
        if (!i) {
            p[i] = map;
            continue;
        }
        p[i] = twice(n, p[i - 1], layer_name(n, name, "up"), RESAMPLE_NEAREST);
        p[i] = add(n->b, p[i], map, layer_name(n, name, "add"));
    }
    for (int i = 0; i < LEVELS; i++)
        p[i] = segment_level(n, p[i], i, LEVELS - 1 - i);
    sum = add(n->b, p[0], p[1], "decoder.merge.0");
    sum = add(n->b, sum, p[2], "decoder.merge.1");
    sum = add(n->b, sum, p[3], "decoder.merge.2");
    return dropout2d(n->b, sum, "decoder.dropout", .rate = drop);
}

/* ---- PSPNet ---- */

static struct tensor *decode_psp(struct net *n, const struct backbone *k, float drop)
{
    static const int sizes[] = {1, 2, 3, 6};
    struct tensor *x = backbone_map_needed(n->b, k, 8), *part[5];
    int channels, height, width;

    channels = (int)x->dim[IMAGE_C] / 4;
    height = (int)x->dim[IMAGE_H], width = (int)x->dim[IMAGE_W];
    for (int i = 0; i < 4; i++) {
        char *p = arena_printf(&n->b->g->arena, "decoder.psp.blocks.%d.pool", i);
        char *conv = layer_name(n, p, "1");
        struct tensor *y = avgpool2d(n->b, x, layer_name(n, p, "0"), .out_h = sizes[i],
                                     .out_w = sizes[i]);

        if (sizes[i] > 1)
            y = conv_bn(n, y, conv, "0", "1", "2", .out = channels, .kernel = 1);
        else /* no batch norm of one position */
            y = relu(
                n->b,
                conv_bias(n, y, layer_name(n, conv, "0"), channels, 1, INIT_RULE_ZERO),
                layer_name(n, conv, "2"));
        part[i] = resample(n->b, y, layer_name(n, p, "up"), .out_h = height,
                           .out_w = width, .align_corners = 1);
    }
    part[4] = x;
    x = concat(n->b, part, 5, "decoder.psp.concat");
    x = conv_bn(n, x, "decoder.conv", "0", "1", "2", .out = 512, .kernel = 1);
    return dropout2d(n->b, x, "decoder.dropout", .rate = drop);
}

/* ---- UPerNet ---- */

static struct tensor *like(struct net *n, struct tensor *x, const struct tensor *dst,
                           const char *name)
{
    return resample(n->b, x, name, .out_h = (int)dst->dim[IMAGE_H],
                    .out_w = (int)dst->dim[IMAGE_W]);
}

static struct tensor *pool_pyramid(struct net *n, struct tensor *x, int width)
{
    static const int sizes[] = {1, 2, 3, 6};
    struct tensor *part[5] = {x};

    for (int i = 0; i < 4; i++) {
        char *p = arena_printf(&n->b->g->arena, "decoder.psp.blocks.%d", i);
        struct tensor *y = avgpool2d(n->b, x, layer_name(n, p, "0"), .out_h = sizes[i],
                                     .out_w = sizes[i]);

        y = conv_bn(n, y, layer_name(n, p, "1"), "0", "1", "2", .out = width,
                    .kernel = 1);
        part[1 + i] = like(n, y, x, layer_name(n, p, "up"));
    }
    x = concat(n->b, part, 5, "decoder.psp.concat");
    return conv_bn(n, x, "decoder.psp.out_conv", "0", "1", "2", .out = width,
                   .kernel = 3);
}

/* Figure 4 of the paper. The maps are normalized first, each pixel by its channels. */
static struct tensor *decode_upernet(struct net *n, const struct backbone *k, int width)
{
    struct arena *mem = &n->b->g->arena;
    struct tensor *map[LEVELS], *level[LEVELS];

    for (int i = 0; i < LEVELS; i++) {
        char *name = arena_printf(mem, "decoder.feature_norms.%d", i);

        map[i] = view_tokens(n->b, backbone_map_needed(n->b, k, 4 << i), name);
        map[i] = view_image(n->b, layernorm(n->b, map[i], name, .eps = 1e-6f), name);
    }
    level[LEVELS - 1] = pool_pyramid(n, map[LEVELS - 1], width);
    for (int i = 0; i < LEVELS - 1; i++) {
        int pos = LEVELS - 2 - i;
        char *p = arena_printf(mem, "decoder.fpn_lateral_blocks.%d", i);
        struct tensor *y = conv_bn(n, map[pos], layer_name(n, p, "conv_norm_relu"), "0",
                                   "1", "2", .out = width, .kernel = 1);

        level[pos] = like(n, level[pos + 1], y, layer_name(n, p, "up"));
        level[pos] = add(n->b, level[pos], y, layer_name(n, p, "add"));
    }
    for (int i = 0; i < LEVELS - 1; i++)
        level[LEVELS - 2 - i] = conv_bn(
            n, level[LEVELS - 2 - i], arena_printf(mem, "decoder.fpn_conv_blocks.%d", i),
            "0", "1", "2", .out = width, .kernel = 3);
    for (int i = 1; i < LEVELS; i++)
        level[i] = like(n, level[i], level[0],
                        arena_printf(mem, "decoder.fusion_block.up%d", i));
    level[0] = concat(n->b, level, LEVELS, "decoder.fusion_block.concat");
    return conv_bn(n, level[0], "decoder.fusion_block", "0", "1", "2", .out = width,
                   .kernel = 3);
}

/* ---- SegFormer ---- */

/* Equation 4: a linear layer on each map, all in a quarter of the image's size. */
static struct tensor *decode_segformer(struct net *n, const struct backbone *k, int width)
{
    struct arena *mem = &n->b->g->arena;
    struct tensor *part[LEVELS + 1], *dst = backbone_map_needed(n->b, k, 4);
    int parts = 0;

    for (int reduction = 32; reduction > 1; reduction /= 2) {
        char *p = arena_printf(mem, "decoder.mlp_stage.%d", parts);
        struct tensor *x = reduction == 2 ? backbone_map(n->b, k, 2)
                                          : backbone_map_needed(n->b, k, reduction);

        if (!x)
            break;
        x = linear(n->b, view_tokens(n->b, x, p), layer_name(n, p, "linear"),
                   .out = width, .bias = 1,
                   .init = n->o->init ? n->o->init : INIT_RULE_XAVIER_UNIFORM,
                   .bias_init = INIT_RULE_ZERO);
        part[parts++] = like(n, view_image(n->b, x, p), dst, layer_name(n, p, "up"));
    }
    return conv_bn(n, concat(n->b, part, parts, "decoder.fuse_stage.concat"),
                   "decoder.fuse_stage", "0", "1", "2", .out = width, .kernel = 1);
}

static struct tensor *pyramid_build(struct builder *b, const struct model *m,
                                    const struct model_options *o, struct tensor *x)
{
    const struct pyramid *a = m->arch;
    struct net n = smp_decoder(b, o);
    int height = (int)x->dim[IMAGE_H], width = (int)x->dim[IMAGE_W];
    struct backbone k;

    backbone_build(b, m, o, x, &k);
    x = a->kind == PYRAMID_FPN       ? decode_fpn(&n, &k, a->drop)
        : a->kind == PYRAMID_PSPNET  ? decode_psp(&n, &k, a->drop)
        : a->kind == PYRAMID_UPERNET ? decode_upernet(&n, &k, a->width)
                                     : decode_segformer(&n, &k, a->width);
    if (model_stage(o, "decoder", a->kind == PYRAMID_PSPNET ? 8 : 4, x))
        return NULL;
    return smp_head(&n, x, a->kind == PYRAMID_PSPNET ? 3 : 1, height, width);
}

static const char *const *check(const struct model *m, const struct model_options *o,
                                int height, int width, struct strbuf *why)
{
    (void)o;
    return size_multiple_of(m, ((const struct pyramid *)m->arch)->side, height, width,
                            why);
}

#define NET(which, multiple, channels, encoder)                                          \
    .family = &pyramid_family, .classes = 21, .label_divisor = 1, .tags = "",            \
    .backbone = (encoder), .backbone_prefix = "encoder.",                                \
    .arch = &(const struct pyramid)                                                      \
    {                                                                                    \
        .kind = (which), .side = (multiple), .width = (channels), .drop = 0.2f           \
    }

/* clang-format off */
static const struct model models[] = {
    {ROW(fpn), NET(PYRAMID_FPN, 32, 0, "resnet34"), IMAGENET(512, 1)},
    {ROW(pspnet), NET(PYRAMID_PSPNET, 8, 0, "resnet34"), IMAGENET(512, 1)},
    {ROW(upernet), NET(PYRAMID_UPERNET, 32, 256, "resnet34"), IMAGENET(512, 1)},
    {ROW(segformer_b0), NET(PYRAMID_SEGFORMER, 32, 256, "mit_b0"), IMAGENET(512, 1)},
    {ROW(segformer_b1), NET(PYRAMID_SEGFORMER, 32, 256, "mit_b1"), IMAGENET(512, 1)},
    {ROW(segformer_b2), NET(PYRAMID_SEGFORMER, 32, 768, "mit_b2"), IMAGENET(512, 1)},
    {ROW(segformer_b3), NET(PYRAMID_SEGFORMER, 32, 768, "mit_b3"), IMAGENET(512, 1)},
    {ROW(segformer_b4), NET(PYRAMID_SEGFORMER, 32, 768, "mit_b4"), IMAGENET(512, 1)},
    {ROW(segformer_b5), NET(PYRAMID_SEGFORMER, 32, 768, "mit_b5"), IMAGENET(640, 1)},
    {.name = NULL},
};
/* clang-format on */

static const char *const reads[] = {"MODEL.NUM_CLASSES", "MODEL.BACKBONE",
                                    "MODEL.DROP_PATH_RATE", "MODEL.INIT", NULL};

static const char *const heads[] = {"segmentation_head.0", NULL};

const struct model_family pyramid_family = {
    .type = "pyramid",
    .task = MODEL_SEGMENT,
    .models = models,
    .reads = reads,
    .heads = heads,
    .build_model = pyramid_build,
    .check = check,
};
