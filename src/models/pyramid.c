#include "models/pyramid.h"

#include "base/error.h"
#include "models/backbone.h"
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
#include "ops/resample.h"

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
        struct tensor *map = backbone_map(n->b, k, 32 >> i);
        char *name = arena_printf(&n->b->g->arena,
                                  i ? "decoder.p%d.skip_conv" : "decoder.p%d", 5 - i);

        if (!map)
            usage("%s: the backbone has no map of 1/%d of the image", k->m->name,
                  32 >> i);
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
    struct tensor *x = backbone_map(n->b, k, 8), *part[5];
    int channels, height, width;

    if (!x)
        usage("%s: the backbone has no map of 1/8 of the image", k->m->name);
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

static struct tensor *pyramid_build(struct builder *b, const struct model *m,
                                    const struct model_options *o, struct tensor *x)
{
    const struct pyramid *a = m->arch;
    struct net n = smp_decoder(b, o);
    int height = (int)x->dim[IMAGE_H], width = (int)x->dim[IMAGE_W];
    struct backbone k;

    backbone_build(b, m, o, x, &k);
    x = a->kind == PYRAMID_FPN ? decode_fpn(&n, &k, a->drop)
                               : decode_psp(&n, &k, a->drop);
    if (model_stage(o, "decoder", a->kind == PYRAMID_FPN ? 4 : 8, x))
        return NULL;
    return smp_head(&n, x, a->kind == PYRAMID_FPN ? 1 : 3, height, width);
}

static const char *const *check(const struct model *m, const struct model_options *o,
                                int height, int width, struct strbuf *why)
{
    (void)o;
    return backbone_check_sides(m, ((const struct pyramid *)m->arch)->side, height, width,
                                why);
}

#define NET(which, multiple)                                                             \
    .family = &pyramid_family, .classes = 21, .label_divisor = 1, .tags = "",            \
    .backbone = "resnet34", .backbone_prefix = "encoder.",                               \
    .arch = &(const struct pyramid)                                                      \
    {                                                                                    \
        .kind = (which), .side = (multiple), .drop = 0.2f                                \
    }

static const struct model models[] = {
    {ROW(fpn), NET(PYRAMID_FPN, 32), IMAGENET(512, 1)},
    {ROW(pspnet), NET(PYRAMID_PSPNET, 8), IMAGENET(512, 1)},
    {.name = NULL},
};

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
