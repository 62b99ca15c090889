#include "models/regnet.h"

#include <math.h>

#include "base/error.h"
#include "models/blocks.h"
#include "models/rows.h"
#include "models/stages.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/dropout.h"
#include "ops/global_avgpool.h"
#include "ops/linear.h"

/*
 * Equations 2 to 4: block j has width u = w0 + wa j, which is rounded to w0 wm^s for a
 * whole s, and then to a multiple of 8. Blocks of one width are a stage. As in the
 * authors' code, widths are then rounded to a multiple of the group's.
 */
struct regnet_stages regnet_stages_of(const struct regnet *r)
{
    struct regnet_stages s = {.depth = {0}};
    int n = 0, last = 0;

    for (int j = 0; j < r->depth; j++) {
        double u = r->first + r->slope * j;
        double step = rint(log(u / r->first) / log(r->factor));
        int width = (int)rint(r->first * pow(r->factor, step) / 8) * 8;
        int group = r->group < width ? r->group : width;

        if (j == 0 || width != last) {
            if (n == REGNET_STAGES)
                BUG("a RegNet of more than %d stages", REGNET_STAGES);
            s.width[n] = (int)rint((double)width / group) * group;
            s.group[n++] = group;
        }
        last = width;
        s.depth[n - 1]++;
    }
    return s;
}

/* timm's ConvNormAct */
#define conv_norm(n, x, p, ACT, ...)                                                     \
    conv_bn((n), (x), (p), "conv", "bn", (ACT), __VA_ARGS__)

static struct tensor *block(struct net *n, struct tensor *x, const char *p, int width,
                            int group, struct stage_strides s, bool excite)
{
    int in = (int)x->dim[1];
    struct tensor *y;

    scope_begin(n->b);
    y = conv_norm(n, x, layer_name(n, p, "conv1"), "act", .out = width, .kernel = 1);
    y = conv_norm(n, y, layer_name(n, p, "conv2"), "act", .out = width, .kernel = 3,
                  .stride = s.stride, .dilation = s.first, .groups = width / group);
    if (excite)
        y = squeeze_excite(n, y, layer_name(n, p, "se"), .width = (int)rint(in / 4.0),
                           .bias_init = INIT_RULE_ZERO);
    y = conv_norm(n, y, layer_name(n, p, "conv3"), NULL, .out = width, .kernel = 1,
                  .zero_init = 1);
    y = net_drop_path(n, y, layer_name(n, p, "drop_path"));
    if (s.stride > 1 || s.first != s.dilation || in != width)
        x = conv_norm(n, x, layer_name(n, p, "downsample"), NULL, .out = width,
                      .kernel = 1, .stride = s.stride);
    x = relu(n->b, add(n->b, y, x, layer_name(n, p, "add")), layer_name(n, p, "act3"));
    scope_end(n->b);
    return x;
}

static struct tensor *regnet_build(struct builder *b, const void *arch,
                                   const struct model_options *o, struct tensor *x)
{
    const struct regnet *a = arch;
    struct regnet_stages stages = regnet_stages_of(a);
    struct net n = {.b = b,
                    .o = o,
                    .init = o->init ? o->init : INIT_RULE_KAIMING_GROUPS,
                    .nblock = a->depth,
                    .reduction = 1};

    x = conv_norm(&n, x, "stem", "act", .out = 32, .kernel = 3,
                  .stride = net_stride(&n, 2));
    if (model_stage(o, "stem", n.reduction, x))
        return NULL;
    for (int i = 0; i < REGNET_STAGES && stages.depth[i]; i++) {
        const char *name = arena_printf(&b->g->arena, "s%d", i + 1);
        struct stage_strides s = net_stage(&n, 2);

        for (int k = 0; k < stages.depth[i]; k++) {
            x = block(&n, x, arena_printf(&b->g->arena, "%s.b%d", name, k + 1),
                      stages.width[i], stages.group[i], s, a->squeeze_excite);
            s.stride = 1;
            s.first = s.dilation;
        }
        if (model_stage(o, name, n.reduction, x))
            return NULL;
    }
    x = global_avgpool(b, x, "head.global_pool");
    x = dropout(b, x, "head.drop", .rate = (float)o->drop_rate);
    return linear(b, x, "head.fc", .out = (int)o->classes, .bias = 1,
                  .init = o->init ? o->init : INIT_RULE_NORMAL_01,
                  .bias_init = INIT_RULE_ZERO);
}

static const char *const reads[] = {
    "MODEL.NUM_CLASSES", "MODEL.DROP_RATE",     "MODEL.DROP_PATH_RATE",
    "MODEL.INIT",        "MODEL.OUTPUT_STRIDE", "MODEL.SKIP_STRIDES",
    NULL};

#define REGNET(...)                                                                      \
    .family = &regnet_family, .classes = 1000, .arch = &(const struct regnet)            \
    {                                                                                    \
        __VA_ARGS__                                                                      \
    }
#define X(...) REGNET(__VA_ARGS__, .squeeze_excite = false)
#define Y(...) REGNET(__VA_ARGS__, .squeeze_excite = true)

/* clang-format off */
static const struct model models[] = {
    {ROW(regnetx_002), X(13, 24, 36.44, 2.49, 8), IMAGENET(224, 0.875), TAGS "pycls_in1k"},
    {ROW(regnetx_004), X(22, 24, 24.48, 2.54, 16), IMAGENET(224, 0.875), TAGS "pycls_in1k"},
    {ROW(regnetx_006), X(16, 48, 36.97, 2.24, 24), IMAGENET(224, 0.875), TAGS "pycls_in1k"},
    {ROW(regnetx_008), X(16, 56, 35.73, 2.28, 16), IMAGENET(224, 0.965), TAGS "tv2_in1k pycls_in1k"},
    {ROW(regnetx_016), X(18, 80, 34.01, 2.25, 24), IMAGENET(224, 0.965), TAGS "tv2_in1k pycls_in1k"},
    {ROW(regnetx_032), X(25, 88, 26.31, 2.25, 48), IMAGENET(224, 0.965), TAGS "tv2_in1k pycls_in1k"},
    {ROW(regnetx_040), X(23, 96, 38.65, 2.43, 40), IMAGENET(224, 0.875), TAGS "pycls_in1k"},
    {ROW(regnetx_064), X(17, 184, 60.83, 2.07, 56), IMAGENET(224, 0.875), TAGS "pycls_in1k"},
    {ROW(regnetx_080), X(23, 80, 49.56, 2.88, 120), IMAGENET(224, 0.965), TAGS "tv2_in1k pycls_in1k"},
    {ROW(regnetx_120), X(19, 168, 73.36, 2.37, 112), IMAGENET(224, 0.875), TAGS "pycls_in1k"},
    {ROW(regnetx_160), X(22, 216, 55.59, 2.1, 128), IMAGENET(224, 0.965), TAGS "tv2_in1k pycls_in1k"},
    {ROW(regnetx_320), X(23, 320, 69.86, 2.0, 168), IMAGENET(224, 0.965), TAGS "tv2_in1k pycls_in1k"},
    {ROW(regnety_002), Y(13, 24, 36.44, 2.49, 8), IMAGENET(224, 0.875), TAGS "pycls_in1k"},
    {ROW(regnety_004), Y(16, 48, 27.89, 2.09, 8), IMAGENET(224, 0.965), TAGS "tv2_in1k pycls_in1k"},
    {ROW(regnety_006), Y(15, 48, 32.54, 2.32, 16), IMAGENET(224, 0.875), TAGS "pycls_in1k"},
    {ROW(regnety_008), Y(14, 56, 38.84, 2.4, 16), IMAGENET(224, 0.875), RECIPE "regnety_008.yaml", TAGS "pycls_in1k"},
    {ROW(regnety_016), Y(27, 48, 20.71, 2.65, 24), IMAGENET(224, 0.965), TAGS "tv2_in1k pycls_in1k"},
    {ROW(regnety_032), Y(21, 80, 42.63, 2.66, 24), IMAGENET(224, 0.95), TAGS "ra_in1k tv2_in1k pycls_in1k"},
    {ROW(regnety_040), Y(22, 96, 31.41, 2.24, 64), IMAGENET(224, 0.95), TAGS "ra3_in1k pycls_in1k"},
    {ROW(regnety_064), Y(25, 112, 33.22, 2.27, 72), IMAGENET(224, 0.95), TAGS "ra3_in1k pycls_in1k"},
    {ROW(regnety_080), Y(17, 192, 76.82, 2.19, 56), IMAGENET(224, 0.95), TAGS "ra3_in1k pycls_in1k"},
    {ROW(regnety_120), Y(19, 168, 73.36, 2.37, 112), IMAGENET(224, 0.95),
     TAGS "sw_in12k_ft_in1k sw_in12k pycls_in1k"},
    {ROW(regnety_160), Y(18, 200, 106.23, 2.48, 112), IMAGENET(224, 0.95),
     TAGS "sw_in12k_ft_in1k lion_in12k_ft_in1k sw_in12k deit_in1k tv2_in1k swag_ft_in1k swag_lc_in1k pycls_in1k"},
    {ROW(regnety_320), Y(20, 232, 115.89, 2.53, 232), IMAGENET(224, 0.965),
     TAGS "tv2_in1k swag_ft_in1k swag_lc_in1k seer_ft_in1k seer pycls_in1k"},
    {ROW(regnety_640), Y(20, 352, 147.48, 2.4, 328), IMAGENET(384, 1.0), TAGS "seer_ft_in1k seer"},
    {ROW(regnety_1280), Y(27, 456, 160.83, 2.52, 264), IMAGENET(384, 1.0),
     TAGS "swag_ft_in1k swag_lc_in1k seer_ft_in1k seer"},
    {ROW(regnety_2560), Y(27, 640, 230.83, 2.53, 373), IMAGENET(384, 1.0), TAGS "seer_ft_in1k"},
    {.name = NULL},
};
/* clang-format on */

/* Same as timm's RegNet.group_matcher. */
static const struct layer_rule layers[] = {
    {.pattern = "^stem", .group = 0},
    {.pattern = "^s([0-9]+)\\.b([0-9]+)", .group = 1},
    {.pattern = NULL},
};

const struct model_family regnet_family = {
    .type = "regnet",
    .task = MODEL_CLASSIFY,
    .models = models,
    .reads = reads,
    .layers = layers,
    .build = regnet_build,
};
