#include "models/resnet.h"

#include "models/blocks.h"
#include "models/resnet_attend.h"
#include "models/stages.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/avgpool2d.h"
#include "ops/dropout.h"
#include "ops/global_avgpool.h"
#include "ops/linear.h"
#include "ops/maxpool2d.h"
#include "ops/pad_end.h"
#include "ops/pad_shortcut.h"

/* A net under construction. */
struct resnet_net {
    struct net n;
    const struct resnet *arch;
    int stem, shortcut; /* enum resnet_stem, resnet_shortcut */
    int zero_last;
};

static struct tensor *stem_deep(struct resnet_net *r, struct tensor *x, int first, int w)
{
    x = conv_bn(&r->n, x, "", "conv1.0", "conv1.1", "conv1.2", .out = first, .kernel = 3,
                .stride = 2);
    x = conv_bn(&r->n, x, "", "conv1.3", "conv1.4", "conv1.5", .out = w, .kernel = 3);
    return conv_bn(&r->n, x, "", "conv1.6", "bn1", "act1", .out = 2 * w, .kernel = 3);
}

static struct tensor *stem(struct resnet_net *r, struct tensor *x)
{
    int planes = r->arch->planes[0], w = planes / 2;

    switch (r->stem) {
    case RESNET_STEM_3X3:
        return conv_bn(&r->n, x, "", "conv1", "bn1", "act1", .out = planes, .kernel = 3);
    case RESNET_STEM_DEEP:
        return stem_deep(r, x, w, w);
    case RESNET_STEM_DEEP64:
        return stem_deep(r, x, 2 * w, 2 * w);
    case RESNET_STEM_TIERED:
        return stem_deep(r, x, 3 * w / 4, w);
    case RESNET_STEM_OWN:
    case RESNET_STEM_7X7:
        break;
    }
    return conv_bn(&r->n, x, "", "conv1", "bn1", "act1", .out = planes, .kernel = 7,
                   .stride = 2);
}

/* Halves the map (or not, with stride 1) after a 3x3 without a stride. An odd map is
 * rounded up, as shortcuts are. */
static struct tensor *smooth(struct resnet_net *r, struct tensor *x, const char *layer,
                             int stride)
{
    if (r->arch->smooth == RESNET_SMOOTH_BLUR)
        return blur_pool(&r->n, x, layer, stride);
    if (stride == 1)
        return x;
    return avgpool2d(r->n.b, x, layer, .kernel = 2, .ceil_mode = 1);
}

/* Convolution number i of a block, the 3x3 that has its stride, with norm and activation. */
static struct tensor *conv3x3(struct resnet_net *r, struct tensor *x, const char *p,
                              int i, int out, int groups, struct stage_strides s)
{
    struct arena *arena = &r->n.b->g->arena;
    const char *conv = arena_printf(arena, "conv%d", i);
    bool smooths = r->arch->smooth && (s.stride > 1 || s.first != s.dilation);
    const struct resnet_selective *k = &r->arch->selective;

    if (k->ratio)
        return selective_kernel(&r->n, x, layer_name(&r->n, p, conv), .out = out,
                                .stride = s.stride, .dilation = s.first, .groups = groups,
                                .ratio = k->ratio, .divisor = k->divisor,
                                .split = k->split);
    x = conv_bn(&r->n, x, p, conv, arena_printf(arena, "bn%d", i),
                arena_printf(arena, "act%d", i), .out = out, .kernel = 3,
                .stride = smooths ? 1 : s.stride, .dilation = s.first, .groups = groups);
    return smooths ? smooth(r, x, layer_name(&r->n, p, "aa"), s.stride) : x;
}

/* Convolution number i of a block, in timm's words. */
static struct tensor *conv_at(struct resnet_net *r, struct tensor *x, const char *p,
                              int i, const char *act, struct conv_bn_attrs a)
{
    struct arena *arena = &r->n.b->g->arena;
    bool nested = r->arch->selective.ratio;

    a.prefix = p;
    a.conv = arena_printf(arena, nested ? "conv%d.conv" : "conv%d", i);
    a.bn = arena_printf(arena, nested ? "conv%d.bn" : "bn%d", i);
    a.act = act;
    return conv_bn_(&r->n, x, &a);
}

static struct tensor *basic(struct resnet_net *r, struct tensor *x, const char *p,
                            int planes, struct stage_strides s)
{
    x = conv3x3(r, x, p, 1, planes, 1, s);
    return conv_at(r, x, p, 2, NULL,
                   (struct conv_bn_attrs){.out = planes,
                                          .kernel = 3,
                                          .dilation = s.dilation,
                                          .zero_init = r->zero_last});
}

static struct tensor *bottleneck(struct resnet_net *r, struct tensor *x, const char *p,
                                 int planes, struct stage_strides s)
{
    int groups = r->arch->groups ? r->arch->groups : 1;
    int w = planes * (r->arch->base ? r->arch->base : 64) / 64 * groups, out = 4 * planes;

    x = conv_at(r, x, p, 1, "act1",
                (struct conv_bn_attrs){.out = r->arch->reduce ? w / r->arch->reduce : w,
                                       .kernel = 1});
    x = conv3x3(r, x, p, 2, w, groups, s);
    return conv_at(
        r, x, p, 3, NULL,
        (struct conv_bn_attrs){.out = out, .kernel = 1, .zero_init = r->zero_last});
}

static struct tensor *excite(struct resnet_net *r, struct tensor *x, const char *p)
{
    const char *layer = layer_name(&r->n, p, "se");
    int w;

    if (r->arch->eca)
        return efficient_attention(&r->n, x, layer);
    w = ((int)x->dim[1] / r->arch->se + 4) / 8 * 8;
    return squeeze_excite(&r->n, x, layer, .width = w < 8 ? 8 : w);
}

/* Converts the input of a block to the shape of its output. */
static struct tensor *shortcut(struct resnet_net *r, struct tensor *x, const char *p,
                               int out, struct stage_strides s)
{
    struct net *n = &r->n;
    bool wide = r->arch->shortcut_3x3 && (s.stride > 1 || s.dilation > 1);

    if (s.stride == 1 && x->dim[1] == out)
        return x;
    if (r->shortcut == RESNET_SHORTCUT_PAD)
        return pad_shortcut(n->b, x, layer_name(n, p, "shortcut"), .out = out,
                            .stride = s.stride);
    if (r->shortcut != RESNET_SHORTCUT_AVG)
        return conv_bn(n, x, p, "downsample.0", "downsample.1", NULL, .out = out,
                       .kernel = wide ? 3 : 1, .stride = s.stride,
                       .dilation = wide ? s.first : 1);
    if (s.stride > 1)
        x = avgpool2d(n->b, x, layer_name(n, p, "downsample.0"), .kernel = 2,
                      .stride = s.stride, .ceil_mode = 1);
    else if (s.dilation > 1)
        x = avgpool2d(
            n->b,
            pad_end(n->b, x, layer_name(n, p, "downsample.pad"), .rows = 1, .columns = 1),
            layer_name(n, p, "downsample.0"), .kernel = 2, .stride = 1);
    return conv_bn(n, x, p, "downsample.1", "downsample.2", NULL, .out = out,
                   .kernel = 1);
}

static struct tensor *block(struct resnet_net *r, struct tensor *x, const char *p,
                            char kind, int planes, struct stage_strides s)
{
    struct net *n = &r->n;
    struct tensor *y;

    scope_begin(n->b);
    y = kind == 'N' ? bottleneck(r, x, p, planes, s) : basic(r, x, p, planes, s);
    if (r->arch->se || r->arch->eca)
        y = excite(r, y, p);
    y = net_drop_path(n, y, layer_name(n, p, "drop_path"));
    x = shortcut(r, x, p, (int)y->dim[1], s);
    x = relu(n->b, add(n->b, y, x, layer_name(n, p, "add")), layer_name(n, p, "act"));
    scope_end(n->b);
    return x;
}

static struct tensor *stem_pool(struct resnet_net *r, struct tensor *x)
{
    struct net *n = &r->n;
    bool blurs = r->arch->smooth == RESNET_SMOOTH_BLUR;

    if (r->arch->conv_pool)
        return conv_bn(n, x, "maxpool", "0", "1", "2", .out = (int)x->dim[1], .kernel = 3,
                       .stride = 2);
    if (r->arch->smooth == RESNET_SMOOTH_AVG)
        return avgpool2d(n->b, x, "maxpool", .kernel = 2);
    x = maxpool2d(n->b, x, "maxpool", .kernel = 3, .stride = blurs ? 1 : 2, .padding = 1);
    return blurs ? blur_pool(n, x, "maxpool.1", 2) : x;
}

/* Returns NULL if the net ends with one of them. */
static struct tensor *stages(struct resnet_net *r, struct tensor *x)
{
    const struct resnet *arch = r->arch;
    struct net *n = &r->n;
    bool small = r->stem == RESNET_STEM_3X3;

    if (model_stage(n->o, "act1", small ? 1 : 2, x))
        return NULL;
    if (!small)
        x = stem_pool(r, x);
    n->reduction = small ? 1 : 4;
    for (int i = 0; i < RESNET_STAGES && arch->depth[i]; i++) {
        const char *name = arena_printf(&n->b->g->arena, "layer%d", i + 1);
        struct stage_strides s = net_stage(n, i ? 2 : 1);

        for (int k = 0; k < arch->depth[i]; k++) {
            x = block(r, x, arena_printf(&n->b->g->arena, "%s.%d", name, k),
                      arch->block[i], arch->planes[i], s);
            s.stride = 1;
            s.first = s.dilation;
        }
        if (model_stage(n->o, name, n->reduction, x))
            return NULL;
    }
    return x;
}

static struct tensor *resnet_build(struct builder *b, const void *arch,
                                   const struct model_options *o, struct tensor *x)
{
    static const struct resnet_options defaults;
    const struct resnet *a = arch;
    const struct resnet_options *f = o->family ? o->family : &defaults;
    int init = o->init    ? o->init
               : a->cifar ? INIT_RULE_KAIMING_FAN_IN
                          : INIT_RULE_DEFAULT;
    struct resnet_net r = {
        .n = {.b = b, .o = o, .init = init, .norm_groups = a->norm_groups},
        .arch = a,
        .stem = f->stem ? f->stem : (int)a->stem,
        .shortcut = f->shortcut ? f->shortcut : (int)a->shortcut,
        .zero_last = f->zero_init_last.has
                         ? f->zero_init_last.value
                         : !a->cifar && !a->selective.ratio && !o->branches_start_at_one,
    };

    for (int s = 0; s < RESNET_STAGES; s++)
        r.n.nblock += a->depth[s];
    x = stem(&r, x);
    x = stages(&r, x);
    if (!x)
        return NULL;
    x = global_avgpool(b, x, "global_pool");
    x = dropout(b, x, "drop", .rate = (float)o->drop_rate);
    return linear(b, x, "fc", .out = (int)o->classes, .bias = 1, .init = init);
}

static const struct option_choice stems[] = {
    {"auto", RESNET_STEM_OWN},
    {"7x7", RESNET_STEM_7X7},
    {"3x3", RESNET_STEM_3X3},
    {"deep", RESNET_STEM_DEEP},
    {"deep64", RESNET_STEM_DEEP64},
    {"tiered", RESNET_STEM_TIERED},
    {0},
};

static const struct option_choice shortcuts[] = {
    {"auto", RESNET_SHORTCUT_OWN},
    {"conv", RESNET_SHORTCUT_CONV},
    {"avg", RESNET_SHORTCUT_AVG},
    {"pad", RESNET_SHORTCUT_PAD},
    {0},
};

static const struct option options[] = {
    OPTION_CHOICES("MODEL.RESNET.STEM", struct resnet_options, stem, stems),
    OPTION_CHOICES("MODEL.RESNET.SHORTCUT", struct resnet_options, shortcut, shortcuts),
    OPTION("MODEL.RESNET.ZERO_INIT_LAST", struct resnet_options, zero_init_last),
    {0},
};

static const char *const reads[] = {"MODEL.NUM_CLASSES",    "MODEL.DROP_RATE",
                                    "MODEL.DROP_PATH_RATE", "MODEL.INIT",
                                    "MODEL.OUTPUT_STRIDE",  NULL};

/* Same as timm's ResNet.group_matcher. */
static const struct layer_rule layers[] = {
    {.pattern = "^(conv1|bn1|maxpool)\\.", .group = 0},
    {.pattern = "^layer([0-9]+)\\.([0-9]+)\\.", .group = 1},
    {.pattern = NULL},
};

const struct model_family resnet_family = {
    .type = "resnet",
    .task = MODEL_CLASSIFY,
    .models = resnet_models,
    .reads = reads,
    .options = options,
    .options_size = sizeof(struct resnet_options),
    .layers = layers,
    .build = resnet_build,
};
