#include "models/resnet.h"

#include "models/stages.h"
#include "ops/add.h"
#include "ops/avgpool2d.h"
#include "ops/batchnorm.h"
#include "ops/conv2d.h"
#include "ops/dropout.h"
#include "ops/global_avgpool.h"
#include "ops/linear.h"
#include "ops/maxpool2d.h"
#include "ops/pad_shortcut.h"
#include "ops/activation.h"
#include "ops/scale_channels.h"

/* A net under construction. */
struct net {
    struct builder *b;
    const struct resnet *arch;
    const struct model_options *o;
    int stem, shortcut; /* enum resnet_stem, resnet_shortcut */
    int zero_last, conv_init;
    int block, nblock; /* index in the whole net, for drop path */
};

/* Returns prefix.suffix, or only the suffix; lives as long as the graph. */
static char *at(const struct net *r, const char *prefix, const char *suffix)
{
    return arena_printf(&r->b->g->arena, "%s%s%s", prefix, *prefix ? "." : "", suffix);
}

struct conv {
    const char *prefix, *conv, *bn, *act; /* names below prefix; no `act`: no ReLU */
    int out, kernel, stride, groups;
    int zero_init;
};

/* Convolution without bias, batch norm, ReLU. */
static struct tensor *conv_bn_(struct net *r, struct tensor *x, const struct conv *c)
{
    x = conv2d(r->b, x, at(r, c->prefix, c->conv), .out = c->out, .kernel = c->kernel,
               .stride = c->stride, .padding = c->kernel / 2, .groups = c->groups,
               .init = r->conv_init);
    x = batchnorm(r->b, x, at(r, c->prefix, c->bn), .zero_init = c->zero_init);
    return c->act ? relu(r->b, x, at(r, c->prefix, c->act)) : x;
}
#define conv_bn(r, x, ...) conv_bn_((r), (x), &(const struct conv){.prefix = __VA_ARGS__})

static struct tensor *stem_deep(struct net *r, struct tensor *x, int first, int w)
{
    x = conv_bn(r, x, "", "conv1.0", "conv1.1", "conv1.2", .out = first, .kernel = 3,
                .stride = 2);
    x = conv_bn(r, x, "", "conv1.3", "conv1.4", "conv1.5", .out = w, .kernel = 3);
    return conv_bn(r, x, "", "conv1.6", "bn1", "act1", .out = 2 * w, .kernel = 3);
}

static struct tensor *stem(struct net *r, struct tensor *x)
{
    int planes = r->arch->planes[0], w = planes / 2;

    switch (r->stem) {
    case RESNET_STEM_3X3:
        return conv_bn(r, x, "", "conv1", "bn1", "act1", .out = planes, .kernel = 3);
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
    return conv_bn(r, x, "", "conv1", "bn1", "act1", .out = planes, .kernel = 7,
                   .stride = 2);
}

static struct tensor *basic(struct net *r, struct tensor *x, const char *p, int planes,
                            int stride)
{
    x = conv_bn(r, x, p, "conv1", "bn1", "act1", .out = planes, .kernel = 3,
                .stride = stride);
    return conv_bn(r, x, p, "conv2", "bn2", NULL, .out = planes, .kernel = 3,
                   .zero_init = r->zero_last);
}

static struct tensor *bottleneck(struct net *r, struct tensor *x, const char *p,
                                 int planes, int stride)
{
    int groups = r->arch->groups ? r->arch->groups : 1;
    int w = planes * (r->arch->base ? r->arch->base : 64) / 64 * groups, out = 4 * planes;

    x = conv_bn(r, x, p, "conv1", "bn1", "act1", .out = w, .kernel = 1);
    x = conv_bn(r, x, p, "conv2", "bn2", "act2", .out = w, .kernel = 3, .stride = stride,
                .groups = groups);
    return conv_bn(r, x, p, "conv3", "bn3", NULL, .out = out, .kernel = 1,
                   .zero_init = r->zero_last);
}

/* x * sigmoid(fc2(relu(fc1(mean of x over its pixels)))) */
static struct tensor *excite(struct net *r, struct tensor *x, const char *p)
{
    int c = (int)x->dim[1], w = (c / 16 + 4) / 8 * 8;
    struct tensor *s = global_avgpool(r->b, x, at(r, p, "se.pool"));

    s = conv2d(r->b, s, at(r, p, "se.fc1"), .out = w < 8 ? 8 : w, .kernel = 1, .bias = 1,
               .init = r->conv_init);
    s = relu(r->b, s, at(r, p, "se.act"));
    s = conv2d(r->b, s, at(r, p, "se.fc2"), .out = c, .kernel = 1, .bias = 1,
               .init = r->conv_init);
    return scale_channels(r->b, x, sigmoid(r->b, s, at(r, p, "se.gate")), at(r, p, "se"));
}

/* Converts the input of a block to the shape of its output. */
static struct tensor *shortcut(struct net *r, struct tensor *x, const char *p, int out,
                               int stride)
{
    if (stride == 1 && x->dim[1] == out)
        return x;
    if (r->shortcut == RESNET_SHORTCUT_PAD)
        return pad_shortcut(r->b, x, at(r, p, "shortcut"), .out = out, .stride = stride);
    if (r->shortcut != RESNET_SHORTCUT_AVG)
        return conv_bn(r, x, p, "downsample.0", "downsample.1", NULL, .out = out,
                       .kernel = 1, .stride = stride);
    if (stride > 1)
        x = avgpool2d(r->b, x, at(r, p, "downsample.0"), .kernel = 2, .stride = stride,
                      .ceil_mode = 1);
    return conv_bn(r, x, p, "downsample.1", "downsample.2", NULL, .out = out,
                   .kernel = 1);
}

static struct tensor *block(struct net *r, struct tensor *x, const char *p, char kind,
                            int planes, int stride)
{
    double drop = r->nblock > 1 ? r->o->drop_path * r->block / (r->nblock - 1) : 0;
    struct tensor *y;

    scope_begin(r->b);
    y = kind == 'N' ? bottleneck(r, x, p, planes, stride)
                    : basic(r, x, p, planes, stride);
    if (r->arch->se)
        y = excite(r, y, p);
    y = drop_path(r->b, y, at(r, p, "drop_path"), .rate = (float)drop);
    x = shortcut(r, x, p, (int)y->dim[1], stride);
    x = relu(r->b, add(r->b, y, x, at(r, p, "add")), at(r, p, "act"));
    scope_end(r->b);
    r->block++;
    return x;
}

/* Returns NULL if the net ends with one of them. */
static struct tensor *stages(struct net *r, struct tensor *x)
{
    const struct resnet *arch = r->arch;
    bool small = r->stem == RESNET_STEM_3X3;

    if (model_stage(r->o, "act1", small ? 1 : 2, x))
        return NULL;
    if (!small)
        x = maxpool2d(r->b, x, "maxpool", .kernel = 3, .stride = 2, .padding = 1);
    for (int s = 0; s < RESNET_STAGES && arch->depth[s]; s++) {
        const char *name = arena_printf(&r->b->g->arena, "layer%d", s + 1);

        for (int i = 0; i < arch->depth[s]; i++)
            x = block(r, x, arena_printf(&r->b->g->arena, "%s.%d", name, i),
                      arch->block[s], arch->planes[s], s > 0 && i == 0 ? 2 : 1);
        if (model_stage(r->o, name, (small ? 1 : 4) << s, x))
            return NULL;
    }
    return x;
}

static struct tensor *resnet_build(struct builder *b, const void *arch,
                                   const struct model_options *o, struct tensor *x)
{
    static const struct resnet_options own;
    const struct resnet *a = arch;
    const struct resnet_options *f = o->family ? o->family : &own;
    int init = o->init    ? o->init
               : a->cifar ? INIT_RULE_KAIMING_FAN_IN
                          : INIT_RULE_DEFAULT;
    struct net r = {
        .b = b,
        .arch = a,
        .o = o,
        .stem = f->stem ? f->stem : (int)a->stem,
        .shortcut = f->shortcut ? f->shortcut : (int)a->shortcut,
        .conv_init = init,
        .zero_last = f->zero_init_last.has ? f->zero_init_last.value : !a->cifar,
    };

    for (int s = 0; s < RESNET_STAGES; s++)
        r.nblock += a->depth[s];
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

static const char *const reads[] = {"MODEL.NUM_CLASSES", "MODEL.DROP_RATE",
                                    "MODEL.DROP_PATH_RATE", "MODEL.INIT", NULL};

/* Same as timm's ResNet.group_matcher. */
static const struct layer_rule layers[] = {
    {.pattern = "^(conv1|bn1)\\.", .group = 0},
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
