#include "models/resnetv2.h"

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
#include "ops/groupnorm.h"
#include "ops/image.h"
#include "ops/layernorm.h"
#include "ops/maxpool2d.h"
#include "ops/pad_end.h"
#include "ops/view.h"

/* A net under construction. */
struct resnetv2_net {
    struct net n;
    const struct resnetv2 *arch;
};

/* Norm and ReLU. */
static struct tensor *norm(struct resnetv2_net *v, struct tensor *x, const char *layer)
{
    struct builder *b = v->n.b;

    if (v->arch->group_norm)
        x = groupnorm(b, x, layer, .groups = 32);
    else
        x = batchnorm(b, x, layer);
    return relu(b, x, layer_below(b, layer, "act"));
}

/* Returns weights [O,I,kh,kw] with mean 0 and variance 1 over each O. */
static struct tensor *standardize(struct builder *b, struct tensor *w, const char *layer)
{
    int64_t rows[] = {w->dim[WEIGHT_O], tensor_len(w) / w->dim[WEIGHT_O]};
    int64_t dim[] = {w->dim[WEIGHT_O], w->dim[WEIGHT_H], w->dim[WEIGHT_W],
                     w->dim[WEIGHT_I]};
    struct tensor *y = view_plain(b, view_tokens(b, w, layer), layer, 2, rows);

    y = layernorm(b, y, layer_below(b, layer, "standardize"), .eps = 1e-8f,
                  .no_affine = 1);
    return view_image(b, view_plain(b, y, layer, 4, dim), layer);
}

static struct tensor *weight(struct resnetv2_net *v, const char *layer, int64_t in,
                             int64_t out, int kernel)
{
    int64_t dim[] = {out, in, kernel, kernel}, taps = (int64_t)kernel * kernel;

    return graph_param(v->n.b, layer, "weight", LAYOUT_IMAGE, 4, dim,
                       init_rule_init((enum init_rule)v->n.init, in * taps, out * taps));
}

/* A convolution without bias, padded to keep the size (divided by stride, rounded up). */
static struct tensor *conv_with(struct resnetv2_net *v, struct tensor *x,
                                struct tensor *w, const char *layer, int stride,
                                int dilation)
{
    int padding = dilation * ((int)w->dim[WEIGHT_H] - 1) / 2;

    if (v->arch->standardized)
        w = standardize(v->n.b, w, layer);
    return conv2d_with(v->n.b, x, w, layer, .stride = stride, .padding = padding,
                       .dilation = dilation);
}

static struct tensor *conv(struct resnetv2_net *v, struct tensor *x, const char *layer,
                           int out, int kernel, int stride, int dilation)
{
    struct tensor *w = weight(v, layer, x->dim[IMAGE_C], out, kernel);

    return conv_with(v, x, w, layer, stride, dilation);
}

/* Returns x with zeros before its first row or column and after its last one. */
static struct tensor *border(struct builder *b, struct tensor *x, const char *layer,
                             int axis)
{
    struct slice_attrs a = {layer, axis, 0, 1};
    struct tensor *zeros =
        expr_scale_by(b, node(b, &op_slice, layer, &a, &x, 1), 0, layer);
    struct tensor *part[] = {zeros, x, zeros};

    return concat(b, part, 3, layer, .axis = axis);
}

/* Returns NULL if the net ends with its stage. */
static struct tensor *stem(struct resnetv2_net *v, struct tensor *x)
{
    const struct resnetv2 *a = v->arch;
    int w = a->stem_width, first = a->stem == RESNETV2_STEM_TIERED ? 3 * w / 8 : w / 2;
    const char *last = a->stem == RESNETV2_STEM_7X7 ? "stem.conv" : "stem.conv3";

    if (a->stem == RESNETV2_STEM_7X7) {
        x = conv(v, x, last, w, 7, 2, 1);
    } else {
        x = norm(v, conv(v, x, "stem.conv1", first, 3, 2, 1), "stem.norm1");
        x = norm(v, conv(v, x, "stem.conv2", w / 2, 3, 1, 1), "stem.norm2");
        x = conv(v, x, last, w, 3, 1, 1);
    }
    if (model_stage(v->n.o, last, 2, x))
        return NULL;
    if (a->standardized) {
        x = border(v->n.b, x, "stem.pad.rows", IMAGE_H);
        x = border(v->n.b, x, "stem.pad.columns", IMAGE_W);
        return maxpool2d(v->n.b, x, "stem.pool", .kernel = 3, .stride = 2);
    }
    return maxpool2d(v->n.b, x, "stem.pool", .kernel = 3, .stride = 2, .padding = 1);
}

/* w: of its 1x1. */
static struct tensor *shortcut(struct resnetv2_net *v, struct tensor *x, struct tensor *w,
                               const char *p, struct stage_strides s)
{
    struct builder *b = v->n.b;
    const char *pool = layer_below(b, p, "pool"), *layer = layer_below(b, p, "conv");

    if (!v->arch->avg_shortcut)
        return conv_with(v, x, w, layer, s.stride, 1);
    if (s.stride > 1)
        x = avgpool2d(b, x, pool, .kernel = 2, .ceil_mode = 1);
    else if (s.dilation > 1)
        x = avgpool2d(b, pad_end(b, x, layer_below(b, p, "pad"), .rows = 1, .columns = 1),
                      pool, .kernel = 2, .stride = 1);
    return conv_with(v, x, w, layer, 1, 1);
}

/* In timm's order, the shortcut's weights come first. */
static struct tensor *block(struct resnetv2_net *v, struct tensor *x, const char *p,
                            int out, struct stage_strides s, bool first)
{
    struct builder *b = v->n.b;
    bool basic = v->arch->basic;
    bool changes = s.stride > 1 || s.first != s.dilation || x->dim[IMAGE_C] != out;
    const char *down = layer_below(b, p, "downsample");
    struct tensor *y, *skip = x, *w = NULL;

    if (first && (changes || !basic))
        w = weight(v, layer_below(b, down, "conv"), x->dim[IMAGE_C], out, 1);
    scope_begin(b);
    y = norm(v, x, layer_below(b, p, "norm1"));
    if (w)
        skip = shortcut(v, y, w, down, s);
    if (basic) {
        y = conv(v, y, layer_below(b, p, "conv1"), out, 3, s.stride, s.first);
        y = norm(v, y, layer_below(b, p, "norm2"));
        y = conv(v, y, layer_below(b, p, "conv2"), out, 3, 1, s.dilation);
    } else {
        y = conv(v, y, layer_below(b, p, "conv1"), out / 4, 1, 1, 1);
        y = norm(v, y, layer_below(b, p, "norm2"));
        y = conv(v, y, layer_below(b, p, "conv2"), out / 4, 3, s.stride, s.first);
        y = norm(v, y, layer_below(b, p, "norm3"));
        y = conv(v, y, layer_below(b, p, "conv3"), out, 1, 1, 1);
    }
    y = net_drop_path(&v->n, y, layer_below(b, p, "drop_path"));
    x = add(b, y, skip, layer_below(b, p, "add"));
    scope_end(b);
    return x;
}

/* Returns NULL if the net ends with one of them. */
static struct tensor *stages(struct resnetv2_net *v, struct tensor *x)
{
    struct net *n = &v->n;

    n->reduction = 4;
    for (int i = 0; i < RESNETV2_STAGES; i++) {
        const char *name = arena_printf(&n->b->g->arena, "stages.%d", i);
        struct stage_strides s = net_stage(n, i ? 2 : 1);

        for (int k = 0; k < v->arch->depth[i]; k++) {
            x = block(v, x, arena_printf(&n->b->g->arena, "%s.blocks.%d", name, k),
                      v->arch->width[i], s, k == 0);
            s.stride = 1;
            s.first = s.dilation;
        }
        if (model_stage(n->o, name, n->reduction, x))
            return NULL;
    }
    return x;
}

static struct tensor *resnetv2_build(struct builder *b, const void *arch,
                                     const struct model_options *o, struct tensor *x)
{
    struct resnetv2_net v = {
        .n = {.b = b, .o = o, .init = o->init ? o->init : INIT_RULE_KAIMING_NORMAL},
        .arch = arch};
    int64_t flat[] = {x->dim[0], o->classes};

    for (int s = 0; s < RESNETV2_STAGES; s++)
        v.n.nblock += v.arch->depth[s];
    x = stem(&v, x);
    x = x ? stages(&v, x) : NULL;
    if (!x)
        return NULL;
    x = global_avgpool(b, norm(&v, x, "norm"), "head.global_pool");
    x = dropout(b, x, "head.drop", .rate = (float)o->drop_rate);
    x = conv2d(b, x, "head.fc", .out = (int)o->classes, .kernel = 1, .bias = 1,
               .init = o->init ? o->init : INIT_RULE_NORMAL_01,
               .bias_init = INIT_RULE_ZERO);
    return view_plain(b, view_tokens(b, x, "head.flatten"), "head.flatten", 2, flat);
}

static const char *const reads[] = {"MODEL.NUM_CLASSES",    "MODEL.DROP_RATE",
                                    "MODEL.DROP_PATH_RATE", "MODEL.INIT",
                                    "MODEL.OUTPUT_STRIDE",  NULL};

#define V2(...)                                                                          \
    .family = &resnetv2_family, .classes = 1000, .arch = &(const struct resnetv2)        \
    {                                                                                    \
        __VA_ARGS__                                                                      \
    }
#define BASIC .width = {64, 128, 256, 512}, .stem_width = 64, .basic = true
#define WIDER(f)                                                                         \
    .width = {256 * (f), 512 * (f), 1024 * (f), 2048 * (f)}, .stem_width = 64 * (f)
#define BIT(f)     WIDER(f), .group_norm = true, .standardized = true
#define D          .stem = RESNETV2_STEM_DEEP, .avg_shortcut = true
#define T          .stem = RESNETV2_STEM_TIERED, .avg_shortcut = true
#define DEPTH(...) .depth = {__VA_ARGS__}

/* clang-format off */
static const struct model models[] = {
    {ROW(resnetv2_18), V2(DEPTH(2, 2, 2, 2), BASIC), HALF(224, 0.9), TAGS "ra4_e3600_r224_in1k"},
    {ROW(resnetv2_18d), V2(DEPTH(2, 2, 2, 2), BASIC, D), HALF(224, 0.9), TAGS "ra4_e3600_r224_in1k"},
    {ROW(resnetv2_34), V2(DEPTH(3, 4, 6, 3), BASIC), HALF(224, 0.9), TAGS "ra4_e3600_r224_in1k"},
    {ROW(resnetv2_34d), V2(DEPTH(3, 4, 6, 3), BASIC, D), HALF(224, 0.9),
     TAGS "ra4_e3600_r224_in1k ra4_e3600_r384_in1k"},
    {ROW(resnetv2_50), V2(DEPTH(3, 4, 6, 3), WIDER(1)), HALF(224, 0.95), RECIPE "resnetv2_50.yaml", TAGS "a1h_in1k"},
    {ROW(resnetv2_50d), V2(DEPTH(3, 4, 6, 3), WIDER(1), D), HALF(224, 0.875), TAGS ""},
    {ROW(resnetv2_50t), V2(DEPTH(3, 4, 6, 3), WIDER(1), T), HALF(224, 0.875), TAGS ""},
    {ROW(resnetv2_50d_gn), V2(DEPTH(3, 4, 6, 3), WIDER(1), D, .group_norm = true), HALF(224, 0.95), TAGS "ah_in1k"},
    {ROW(resnetv2_101), V2(DEPTH(3, 4, 23, 3), WIDER(1)), HALF(224, 0.95), TAGS "a1h_in1k"},
    {ROW(resnetv2_101d), V2(DEPTH(3, 4, 23, 3), WIDER(1), D), HALF(224, 0.875), TAGS ""},
    {ROW(resnetv2_152), V2(DEPTH(3, 8, 36, 3), WIDER(1)), HALF(224, 0.875), TAGS ""},
    {ROW(resnetv2_152d), V2(DEPTH(3, 8, 36, 3), WIDER(1), D), HALF(224, 0.875), TAGS ""},

    {ROW(resnetv2_50x1_bit), V2(DEPTH(3, 4, 6, 3), BIT(1)), HALF(224, 0.875),
     TAGS "goog_distilled_in1k goog_in21k_ft_in1k goog_in21k"},
    {ROW(resnetv2_50x3_bit), V2(DEPTH(3, 4, 6, 3), BIT(3)), HALF(448, 1.0), .bilinear = true,
     TAGS "goog_in21k_ft_in1k goog_in21k"},
    {ROW(resnetv2_101x1_bit), V2(DEPTH(3, 4, 23, 3), BIT(1)), HALF(448, 1.0), .bilinear = true,
     TAGS "goog_in21k_ft_in1k goog_in21k"},
    {ROW(resnetv2_101x3_bit), V2(DEPTH(3, 4, 23, 3), BIT(3)), HALF(448, 1.0), .bilinear = true,
     TAGS "goog_in21k_ft_in1k goog_in21k"},
    {ROW(resnetv2_152x2_bit), V2(DEPTH(3, 8, 36, 3), BIT(2)), HALF(224, 0.875),
     TAGS "goog_teacher_in21k_ft_in1k goog_teacher_in21k_ft_in1k_384 goog_in21k_ft_in1k goog_in21k"},
    {ROW(resnetv2_152x4_bit), V2(DEPTH(3, 8, 36, 3), BIT(4)), HALF(480, 1.0), .bilinear = true,
     TAGS "goog_in21k_ft_in1k goog_in21k"},
    {.name = NULL},
};
/* clang-format on */

/* Same as timm's ResNetV2.group_matcher. */
static const struct layer_rule layers[] = {
    {.pattern = "^stem", .group = 0},
    {.pattern = "^stages\\.([0-9]+)\\.blocks\\.([0-9]+)", .group = 1},
    {.pattern = "^norm\\.", .group = 1, .joins = true},
    {.pattern = NULL},
};

const struct model_family resnetv2_family = {
    .type = "resnetv2",
    .task = MODEL_CLASSIFY,
    .models = models,
    .reads = reads,
    .layers = layers,
    .build = resnetv2_build,
};
