#include "models/unet.h"

#include "models/backbone.h"
#include "models/image_size.h"
#include "models/rows.h"
#include "models/segment_heads.h"
#include "models/vgg.h"
#include "ops/concat.h"
#include "ops/image.h"
#include "ops/resample.h"

static const int widths[UNET_BLOCKS] = {256, 128, 64, 32, 16};

/* The maps of a backbone, from the smallest to the image's size; NULL where it has none. */
struct maps {
    struct tensor *x[UNET_BLOCKS + 1];
    int height[UNET_BLOCKS + 1], width[UNET_BLOCKS + 1];
};

static struct maps find_maps(struct builder *b, const struct backbone *k,
                             const struct tensor *image, bool nested)
{
    struct maps m;

    for (int i = 0; i <= UNET_BLOCKS; i++) {
        int reduction = 1 << (UNET_BLOCKS - i);

        if (!i || (nested && reduction > 1))
            m.x[i] = backbone_map_needed(b, k, reduction);
        else
            m.x[i] = reduction > 1 ? backbone_map(b, k, reduction) : NULL;
        m.height[i] = (int)(image->dim[IMAGE_H] + reduction - 1) / reduction;
        m.width[i] = (int)(image->dim[IMAGE_W] + reduction - 1) / reduction;
        if (m.x[i]) {
            m.height[i] = (int)m.x[i]->dim[IMAGE_H];
            m.width[i] = (int)m.x[i]->dim[IMAGE_W];
        }
    }
    return m;
}

/* smp's U-Net has two more convolutions on the last map of a VGG. (So has its U-Net++, but
 * nothing reads them.) */
static struct tensor *center(struct net *n, struct tensor *x)
{
    int out = (int)x->dim[IMAGE_C];

    x = conv_bn(n, x, "decoder.center.0", "0", "1", "2", .out = out, .kernel = 3);
    return conv_bn(n, x, "decoder.center.1", "0", "1", "2", .out = out, .kernel = 3);
}

/* Enlarges x, and concatenates it with `skips` maps of that size. */
static struct tensor *block(struct net *n, struct tensor *x, const char *p, int height,
                            int width, struct tensor *const *skip, int skips, int out)
{
    struct tensor *part[UNET_BLOCKS + 1];
    int parts = 1;

    scope_begin(n->b);
    part[0] = resample(n->b, x, layer_name(n, p, "up"), .mode = RESAMPLE_NEAREST,
                       .out_h = height, .out_w = width);
    for (int i = 0; i < skips; i++)
        if (skip[i])
            part[parts++] = skip[i];
    x = parts > 1 ? concat(n->b, part, parts, layer_name(n, p, "concat")) : part[0];
    x = conv_bn(n, x, layer_name(n, p, "conv1"), "0", "1", "2", .out = out, .kernel = 3);
    x = conv_bn(n, x, layer_name(n, p, "conv2"), "0", "1", "2", .out = out, .kernel = 3);
    scope_end(n->b);
    return x;
}

static struct tensor *decode(struct net *n, const struct maps *m)
{
    struct tensor *x = m->x[0];

    for (int i = 0; i < UNET_BLOCKS; i++)
        x = block(n, x, arena_printf(&n->b->g->arena, "decoder.blocks.%d", i),
                  m->height[i + 1], m->width[i + 1], &m->x[i + 1], 1, widths[i]);
    return x;
}

/*
 * Figure 1 of the paper: node x_d_l, here at depth d of column l as smp counts them, reads
 * the node that is one step smaller and all nodes of its own size before it. Only the last
 * node has the decoder's width at its size; the others keep the backbone's.
 */
static struct tensor *decode_nested(struct net *n, const struct maps *m)
{
    struct tensor *node[UNET_BLOCKS][UNET_BLOCKS] = {{NULL}}, *skip[UNET_BLOCKS + 1];
    struct arena *mem = &n->b->g->arena;
    const int last = UNET_BLOCKS - 1;

    for (int layer = 0; layer < last; layer++)
        for (int depth = 0; depth < last - layer; depth++) {
            int pos = depth + layer, skips = 0;
            struct tensor *x = layer ? node[depth][pos - 1] : m->x[depth];
            char *p = arena_printf(mem, "decoder.blocks.x_%d_%d", depth, pos);
            int out = depth ? (int)m->x[pos + 1]->dim[IMAGE_C] : widths[pos];

            for (int i = depth + 1; layer && i <= pos; i++)
                skip[skips++] = node[i][pos];
            skip[skips++] = m->x[pos + 1];
            node[depth][pos] =
                block(n, x, p, m->height[pos + 1], m->width[pos + 1], skip, skips, out);
        }
    return block(n, node[0][last - 1], arena_printf(mem, "decoder.blocks.x_0_%d", last),
                 m->height[UNET_BLOCKS], m->width[UNET_BLOCKS], NULL, 0, widths[last]);
}

static struct tensor *unet_build(struct builder *b, const struct model *m,
                                 const struct model_options *o, struct tensor *x)
{
    const struct unet *a = m->arch;
    struct net n = smp_decoder(b, o);
    int height = (int)x->dim[IMAGE_H], width = (int)x->dim[IMAGE_W];
    struct backbone k;
    struct maps maps;

    backbone_build(b, m, o, x, &k);
    maps = find_maps(b, &k, x, a->nested);
    if (!a->nested && k.classifier->family == &vgg_family)
        maps.x[0] = center(&n, maps.x[0]);
    x = a->nested ? decode_nested(&n, &maps) : decode(&n, &maps);
    if (model_stage(o, "decoder", 1, x))
        return NULL;
    return smp_head(&n, x, 3, height, width);
}

static const char *const *check(const struct model *m, const struct model_options *o,
                                int height, int width, struct strbuf *why)
{
    const struct unet *a = m->arch;

    (void)o;
    return a->nested ? size_multiple_of(m, 1 << UNET_BLOCKS, height, width, why) : NULL;
}

#define UNET(...)                                                                        \
    .family = &unet_family, .classes = 21, .label_divisor = 1, .tags = "",               \
    .backbone = "resnet34", .backbone_prefix = "encoder.", .arch = &(const struct unet)  \
    {                                                                                    \
        __VA_ARGS__                                                                      \
    }

static const struct model models[] = {
    {ROW(unet), UNET(.nested = false), IMAGENET(512, 1), RECIPE "unet.yaml"},
    {ROW(unetplusplus), UNET(.nested = true), IMAGENET(512, 1)},
    {.name = NULL},
};

static const char *const reads[] = {"MODEL.NUM_CLASSES", "MODEL.BACKBONE",
                                    "MODEL.DROP_PATH_RATE", "MODEL.INIT", NULL};

static const char *const heads[] = {"segmentation_head.0", NULL};

const struct model_family unet_family = {
    .type = "unet",
    .task = MODEL_SEGMENT,
    .models = models,
    .reads = reads,
    .heads = heads,
    .build_model = unet_build,
    .check = check,
};
