#include "models/erfnet.h"

#include "base/error.h"
#include "models/blocks.h"
#include "models/image_size.h"
#include "models/stages.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/batchnorm.h"
#include "ops/concat.h"
#include "ops/conv2d.h"
#include "ops/conv_transpose2d.h"
#include "ops/dropout.h"
#include "ops/maxpool2d.h"

enum { SIDE = 8 }; /* sides of images are multiples of this */

static const float eps = 1e-3f;

/* Halves the size: convolution and max pool of x, concatenated. */
static struct tensor *down(struct builder *b, struct tensor *x, const char *p, int out)
{
    int in = (int)x->dim[1];
    struct tensor *part[2];

    part[0] = conv2d(b, x, layer_below(b, p, "conv"), .out = out - in, .kernel = 3,
                     .stride = 2, .padding = 1, .bias = 1, .init = INIT_RULE_PYTORCH);
    part[1] = maxpool2d(b, x, layer_below(b, p, "pool"), .kernel = 2);
    x = concat(b, part, 2, layer_below(b, p, "concat"));
    x = batchnorm(b, x, layer_below(b, p, "bn"), .eps = eps);
    return relu(b, x, layer_below(b, p, "act"));
}

/* Three rows, one column; `dilation` rows between the taps. */
static struct tensor *conv3x1(struct builder *b, struct tensor *x, const char *name,
                              int dilation)
{
    return conv2d(b, x, name, .out = (int)x->dim[1], .kernel_h = 3, .kernel_w = 1,
                  .pad_h = dilation, .dilation_h = dilation, .bias = 1,
                  .init = INIT_RULE_PYTORCH);
}

static struct tensor *conv1x3(struct builder *b, struct tensor *x, const char *name,
                              int dilation)
{
    return conv2d(b, x, name, .out = (int)x->dim[1], .kernel_h = 1, .kernel_w = 3,
                  .pad_w = dilation, .dilation_w = dilation, .bias = 1,
                  .init = INIT_RULE_PYTORCH);
}

/* The residual block "non-bottleneck-1D". */
static struct tensor *block(struct builder *b, struct tensor *x, const char *p,
                            int dilation, float drop)
{
    struct tensor *y;

    scope_begin(b);
    y = relu(b, conv3x1(b, x, layer_below(b, p, "conv3x1_1"), 1),
             layer_below(b, p, "act1"));
    y = conv1x3(b, y, layer_below(b, p, "conv1x3_1"), 1);
    y = relu(b, batchnorm(b, y, layer_below(b, p, "bn1"), .eps = eps),
             layer_below(b, p, "act2"));
    y = relu(b, conv3x1(b, y, layer_below(b, p, "conv3x1_2"), dilation),
             layer_below(b, p, "act3"));
    y = conv1x3(b, y, layer_below(b, p, "conv1x3_2"), dilation);
    y = batchnorm(b, y, layer_below(b, p, "bn2"), .eps = eps);
    y = dropout2d(b, y, layer_below(b, p, "dropout"), .rate = drop);
    x = relu(b, add(b, y, x, layer_below(b, p, "add")), layer_below(b, p, "act4"));
    scope_end(b);
    return x;
}

/* Doubles the size. */
static struct tensor *up(struct builder *b, struct tensor *x, const char *p, int out)
{
    x = conv_transpose2d(b, x, layer_below(b, p, "conv"), .out = out, .kernel = 3,
                         .stride = 2, .padding = 1, .output_padding = 1, .bias = 1);
    x = batchnorm(b, x, layer_below(b, p, "bn"), .eps = eps);
    return relu(b, x, layer_below(b, p, "act"));
}

/* Returns NULL if the net ends with one of its stages. */
static struct tensor *encoder(struct builder *b, struct tensor *x, const float drop[2],
                              const struct model_options *o)
{
    static const int dilation[] = {2, 4, 8, 16, 2, 4, 8, 16};
    int layer = 0;

    x = down(b, x, "encoder.initial_block", 16);
    if (model_stage(o, "encoder.initial_block", 2, x))
        return NULL;
    x = down(b, x, "encoder.layers.0", 64);
    for (layer = 1; layer <= 5; layer++)
        x = block(b, x, arena_printf(&b->g->arena, "encoder.layers.%d", layer), 1,
                  drop[0]);
    if (model_stage(o, "encoder.layers.5", 4, x))
        return NULL;
    x = down(b, x, "encoder.layers.6", 128);
    for (layer = 7; layer <= 14; layer++)
        x = block(b, x, arena_printf(&b->g->arena, "encoder.layers.%d", layer),
                  dilation[layer - 7], drop[1]);
    return model_stage(o, "encoder.layers.14", 8, x) ? NULL : x;
}

/* Returns NULL if the net ends with one of its stages. */
static struct tensor *decoder(struct builder *b, struct tensor *x,
                              const struct model_options *o)
{
    x = up(b, x, "decoder.layers.0", 64);
    x = block(b, x, "decoder.layers.1", 1, 0);
    x = block(b, x, "decoder.layers.2", 1, 0);
    if (model_stage(o, "decoder.layers.2", 4, x))
        return NULL;
    x = up(b, x, "decoder.layers.3", 16);
    x = block(b, x, "decoder.layers.4", 1, 0);
    x = block(b, x, "decoder.layers.5", 1, 0);
    if (model_stage(o, "decoder.layers.5", 2, x))
        return NULL;
    return conv_transpose2d(b, x, "decoder.output_conv", .out = (int)o->classes,
                            .kernel = 2, .stride = 2, .bias = 1);
}

/* The head of erfnet_encoder. The full net has its parameters without using them; a net
 * that ends with a stage (MODEL.FEATURES_ONLY) lacks them. */
static void unused_head(struct builder *b, int64_t channels, int64_t classes)
{
    struct init init = init_rule_init(INIT_RULE_PYTORCH, channels, classes);

    (void)graph_param(b, "encoder.output_conv", "weight", LAYOUT_IMAGE, 4,
                      (const int64_t[]){classes, channels, 1, 1}, init);
    (void)graph_param(b, "encoder.output_conv", "bias", LAYOUT_PLAIN, 1, &classes, init);
}

static struct tensor *erfnet_build(struct builder *b, const void *arch,
                                   const struct model_options *o, struct tensor *x)
{
    const struct erfnet *a = arch;

    if (x->dim[2] % SIDE || x->dim[3] % SIDE)
        usage("erfnet: images are %lld x %lld, but both sides must be multiples of %d",
              (long long)x->dim[2], (long long)x->dim[3], SIDE);
    x = encoder(b, x, a->drop, o);
    if (!x)
        return NULL;
    if (a->encoder_only)
        return conv2d(b, x, "encoder.output_conv", .out = (int)o->classes, .kernel = 1,
                      .bias = 1, .init = INIT_RULE_PYTORCH);
    if (!o->stages || o->stages->last >= MODEL_STAGES)
        unused_head(b, x->dim[1], o->classes);
    return decoder(b, x, o);
}

static const char *const *erfnet_check(const struct model *m,
                                       const struct model_options *o, int height,
                                       int width, struct strbuf *why)
{
    (void)o;
    return size_multiple_of(m, SIDE, height, width, why);
}

/* Designed for Cityscapes. Pixels in [0, 1], neither shifted nor scaled. */
#define ERFNET(...)                                                                      \
    .family = &erfnet_family, .classes = 20, .size = 1024, .height = 512, .crop_pct = 1, \
    .bilinear = true, .mean = {0, 0, 0}, .std = {1, 1, 1}, .tags = "",                   \
    .arch = &(const struct erfnet)                                                       \
    {                                                                                    \
        .drop = {0.03f, 0.3f}, __VA_ARGS__                                               \
    }

static const struct model models[] = {
    {.name = "erfnet",
     ERFNET(.encoder_only = false),
     .label_divisor = 1,
     .recipe = "erfnet.yaml"},
    {.name = "erfnet_encoder",
     ERFNET(.encoder_only = true),
     .label_divisor = 8,
     .recipe = "cityscapes/encoder.yaml"},
    {0},
};

/* Dropout rates and initial weights are fixed. */
static const char *const reads[] = {"MODEL.NUM_CLASSES", NULL};

static const struct layer_rule layers[] = {
    {.pattern = "^encoder\\.initial_block\\.", .group = 0},
    {.pattern = "^encoder\\.layers\\.([0-9]+)\\.", .group = 1},
    {.pattern = "^decoder\\.layers\\.([0-9]+)\\.", .group = 2},
    {.pattern = NULL},
};

const struct model_family erfnet_family = {
    .type = "erfnet",
    .task = MODEL_SEGMENT,
    .models = models,
    .reads = reads,
    .layers = layers,
    .build = erfnet_build,
    .check = erfnet_check,
};
