#include "tests/onnx/onnx_nets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "graph/flat.h"
#include "graph/program.h"
#include "models/beit.h"
#include "models/bisenet.h"
#include "models/convnext.h"
#include "models/densenet.h"
#include "models/efficientnet.h"
#include "models/erfnet.h"
#include "models/ghostnet.h"
#include "models/inception.h"
#include "models/mixer.h"
#include "models/mobilenetv2.h"
#include "models/mobilenetv3.h"
#include "models/regnet.h"
#include "models/resnet.h"
#include "models/resnetv2.h"
#include "models/swin.h"
#include "models/swin_mlp.h"
#include "models/swin_net.h"
#include "models/swinv2.h"
#include "models/vgg.h"
#include "models/vit.h"
#include "ops/activation.h"
#include "ops/avgpool2d.h"
#include "ops/concat.h"
#include "ops/conv2d.h"
#include "ops/corn.h"
#include "ops/global_avgpool.h"
#include "ops/groupnorm.h"
#include "ops/linear.h"
#include "ops/maxpool2d.h"
#include "ops/pad_end.h"
#include "ops/qlayer.h"

#include "ops/resample.h"
#include "ops/table.h"
#include "ops/unscale.h"
#include "session/devices.h"
#include "session/quantized.h"
#include "tests/models/golden_net.h"
#include "tests/test.h"

#define LIST(...)                                                                        \
    {                                                                                    \
        (const int64_t[]){__VA_ARGS__},                                                  \
            sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)                     \
    }
/* Blocks of EfficientNet and the MobileNets. */
static const struct mobile_blocks mbconv[] = {
    {MOBILE(SEPARABLE, 1, 3, 2, 1, 8), .squeeze = 0.25},
    {MOBILE(INVERTED, 2, 5, 2, 2, 16), .squeeze = 0.25},
    {0},
};
static const struct mobile_blocks lite[] = {
    {MOBILE(FUSED, 1, 3, 2, 2, 8)},
    {MOBILE(INVERTED, 2, 3, 2, 2, 16)},
    {0},
};

static const struct ghost_block ghost[] = {
    {GHOST(3, 8, 8, 1)},
    {GHOST(3, 16, 12, 2)},
    {GHOST(3, 24, 12, 1), .squeeze = true},
    {0},
};

#define OWN(...)                                                                         \
    .custom = &(const struct model)                                                      \
    {                                                                                    \
        __VA_ARGS__                                                                      \
    }
#define SWIN(FAMILY, ...)                                                                \
    OWN(.name = #FAMILY, .family = &FAMILY##_family,                                     \
        .arch = &(const struct swin_options){.patch_size = 2,                            \
                                             .in_chans = 3,                              \
                                             .embed_dim = 8,                             \
                                             .mlp_ratio = 2,                             \
                                             .depths = LIST(2, 1),                       \
                                             .num_heads = LIST(2, 4),                    \
                                             __VA_ARGS__})
#define RESNET(...)                                                                      \
    OWN(.name = "resnet", .family = &resnet_family,                                      \
        .arch = &(const struct resnet){__VA_ARGS__})

/* Ops that no model of the table has. Each part is 5 x 7. */
static struct tensor *build_ops(struct builder *b, const void *arch,
                                const struct model_options *o, struct tensor *x)
{
    struct tensor *all, *part[10];
    int n = 0;

    (void)arch;
    x = conv2d(b, x, "conv", .out = 8, .kernel = 3, .stride = 2, .padding = 1, .bias = 1);
    part[n++] = resample(b, x, "a", .out_h = 5, .out_w = 7);
    part[n++] = resample(b, x, "b", .out_h = 5, .out_w = 7, .align_corners = 1);
    part[n++] = resample(b, x, "c", .out_h = 5, .out_w = 7, .antialias = 1);
    part[n++] = resample(b, x, "d", .out_h = 5, .out_w = 7, .mode = RESAMPLE_BICUBIC);
    part[n++] = resample(b, x, "e", .out_h = 5, .out_w = 7, .mode = RESAMPLE_NEAREST);
    part[n++] =
        resample(b, x, "f", .out_h = 5, .out_w = 7, .mode = RESAMPLE_NEAREST_EXACT);
    part[n++] = avgpool2d(b, x, "g", .out_h = 5, .out_w = 7);
    part[n++] = maxpool2d(b, x, "h", .out_h = 5, .out_w = 7);
    part[n++] = resample(b,
                         maxpool2d(b, x, "i", .kernel_h = 3, .kernel_w = 2, .pad_h = 1,
                                   .stride = 2, .ceil_mode = 1),
                         "j", .out_h = 5, .out_w = 7);
    part[n++] = resample(b,
                         avgpool2d(b, x, "k", .kernel_h = 2, .kernel_w = 3, .pad_w = 1,
                                   .stride = 1, .count_include_pad = 1),
                         "l", .out_h = 5, .out_w = 7, .scale_h = 0.75f, .scale_w = 1.1f);
    all = concat(b, part, n, "channels");
    part[0] = all;
    part[1] =
        node(b, &op_slice, "rows", &(const struct slice_attrs){"rows", 2, 1, 3}, &all, 1);
    x = relu(b, concat(b, part, 2, "concat", .axis = 2), "act");
    x = conv2d(b, x, "conv2", .out = 8, .kernel = 4, .stride = 2, .same = 1);
    x = groupnorm(b, pad_end(b, x, "pad", .rows = 1, .columns = 2), "norm", .groups = 2);
    x = conv2d(b, x, "conv3", .out = 8, .groups = 8, .kernel = 3, .dilation = 2,
               .same = 1);
    return linear(b, global_avgpool(b, x, "pool"), "fc", .out = (int)o->classes,
                  .bias = 1);
}

static const struct model_family ops_family = {.type = "ops", .build = build_ops};

/* Sizes that are not whole windows, and odd sizes: padding, and both kinds of shifts. */
const struct onnx_net onnx_nets[] = {
    {.name = "resnet",
     RESNET(.block = "BNBB", .depth = {1, 1, 1, 0}, .planes = {8, 8, 16, 16},
            .stem = RESNET_STEM_TIERED, .shortcut = RESNET_SHORTCUT_AVG),
     .height = 30,
     .width = 37},
    {.name = "ops", OWN(.name = "ops", .family = &ops_family), .height = 21, .width = 18},
    {.name = "resnet_fold",
     RESNET(.block = "BNBB", .depth = {1, 1, 1, 0}, .planes = {8, 8, 16, 16}),
     .height = 32,
     .width = 32,
     .fold_bn = true},
    {.name = "resnet_se",
     RESNET(.block = "NBBB", .depth = {1, 1, 0, 0}, .planes = {8, 16, 16, 16},
            .groups = 2, .base = 64, .se = 16),
     .height = 32,
     .width = 32},
    {.name = "resnet_cifar",
     RESNET(.block = "BBB", .depth = {1, 1, 1}, .planes = {8, 16, 32},
            .stem = RESNET_STEM_3X3, .shortcut = RESNET_SHORTCUT_PAD, .cifar = true),
     .height = 15,
     .width = 16,
     .fold_bn = true},
    {.name = "erfnet",
     OWN(.name = "erfnet", .family = &erfnet_family, .arch = &(const struct erfnet){0}),
     .height = 16,
     .width = 24},
    {.name = "bisenetv2",
     OWN(.name = "bisenetv2", .family = &bisenet_family,
         .arch = &(const struct bisenet){0.1f}),
     .height = 37,
     .width = 48},
    {.name = "erfnet_fold",
     OWN(.name = "erfnet", .family = &erfnet_family, .arch = &(const struct erfnet){0}),
     .height = 16,
     .width = 24,
     .fold_bn = true},
    {.name = "swin",
     SWIN(swin, .window_size = 3, .ape = true, .qkv_bias = true, .patch_norm = true),
     .height = 14,
     .width = 20},
    {.name = "swinv2",
     SWIN(swinv2, .window_size = 3, .qkv_bias = true, .patch_norm = true,
          .pretrained_window_sizes = LIST(2, 4)),
     .height = 14,
     .width = 20},
    {.name = "swin_mlp",
     SWIN(swin_mlp, .window_size = 4, .patch_norm = true),
     .height = 16,
     .width = 32},
    {.name = "vit",
     OWN(.name = "vit", .family = &vit_family,
         .arch = &(const struct vit){.patch = 4, .width = 24, .depth = 2, .heads = 3}),
     .height = 12,
     .width = 16},
    {.name = "deit",
     OWN(.name = "deit", .family = &vit_family,
         .arch =
             &(const struct vit){
                 .patch = 4, .width = 24, .depth = 1, .heads = 3, .distilled = true}),
     .height = 16,
     .width = 16},
    {.name = "vit_reg",
     OWN(.name = "vit_reg", .family = &vit_family,
         .arch = &(const struct vit){.patch = 4,
                                     .width = 24,
                                     .depth = 1,
                                     .heads = 3,
                                     .no_class = true,
                                     .registers = 3,
                                     .mean = true,
                                     .norm = VIT_NORM_POOLED,
                                     .patch_position = true,
                                     .layer_scale = 0.1f,
                                     .swiglu = true}),
     .height = 16,
     .width = 24},
    {.name = "vit_clip",
     OWN(.name = "vit_clip", .family = &vit_family,
         .arch = &(const struct vit){.patch = 4,
                                     .width = 24,
                                     .depth = 1,
                                     .heads = 3,
                                     .pre_norm = true,
                                     .registers = 1,
                                     .act = "quick_gelu",
                                     .eps = 1e-5f}),
     .height = 16,
     .width = 16},
    {.name = "vit_siglip",
     OWN(.name = "vit_siglip", .family = &vit_family,
         .arch = &(const struct vit){.patch = 4,
                                     .width = 24,
                                     .depth = 1,
                                     .heads = 3,
                                     .no_class = true,
                                     .attends = true,
                                     .act = "gelu_tanh"}),
     .height = 16,
     .width = 24},
    {.name = "beit",
     OWN(.name = "beit", .family = &beit_family,
         .arch = &(const struct beit){4, 24, 1, 3, 0.1f}),
     .height = 16,
     .width = 24},
    {.name = "mixer",
     OWN(.name = "mixer", .family = &mixer_family,
         .arch = &(const struct mixer){4, 16, 1, MIXER_GATE, 0}),
     .height = 16,
     .width = 24},
    {.name = "resmlp",
     OWN(.name = "resmlp", .family = &mixer_family,
         .arch = &(const struct mixer){4, 16, 1, MIXER_AFFINE, 0.1f}),
     .height = 16,
     .width = 24},
    {.name = "convnext",
     OWN(.name = "convnext", .family = &convnext_family,
         .arch =
             &(const struct convnext){.depth = {1, 1, 1, 1}, .width = {8, 16, 24, 32}}),
     .height = 32,
     .width = 40},
    {.name = "convnextv2",
     OWN(.name = "convnextv2", .family = &convnext_family,
         .arch = &(const struct convnext){.depth = {1, 1, 1, 0},
                                          .width = {8, 16, 24, 32},
                                          .grn = true,
                                          .conv_mlp = true,
                                          .stem = CONVNEXT_OVERLAP,
                                          .norm_first = true,
                                          .hidden = 12}),
     .height = 45,
     .width = 32},
    {.name = "regnet",
     OWN(.name = "regnet", .family = &regnet_family,
         .arch = &(const struct regnet){7, 8, 10, 2, 8, true}),
     .height = 32,
     .width = 40},
    {.name = "efficientnet",
     OWN(.name = "efficientnet", .family = &efficientnet_family,
         .arch =
             &(const struct mobile){
                 .blocks = mbconv, .stem = 8, .features = 16, .act = "silu", MOBILE_TF}),
     .height = 33,
     .width = 40},
    {.name = "mobilenetv3",
     OWN(.name = "mobilenetv3", .family = &mobilenetv3_family,
         .arch = &(const struct mobile){.blocks = mbconv,
                                        .stem = 8,
                                        .features = 16,
                                        .act = "hardswish",
                                        .squeeze = MOBILE_SQUEEZE_RELU,
                                        .head = MOBILE_HEAD_POOL_BIAS}),
     .height = 32,
     .width = 40},
    {.name = "resnet_eca",
     RESNET(.block = "NN", .depth = {1, 1}, .planes = {8, 16}, .eca = true,
            .smooth = RESNET_SMOOTH_BLUR, .conv_pool = true),
     .height = 35,
     .width = 42},
    {.name = "bit",
     OWN(.name = "bit", .family = &resnetv2_family,
         .arch = &(const struct resnetv2){.depth = {1, 1, 0, 0},
                                          .width = {128, 128, 128, 128},
                                          .stem_width = 32,
                                          .group_norm = true,
                                          .standardized = true}),
     .height = 35,
     .width = 42},
    {.name = "resnetv2",
     OWN(.name = "resnetv2", .family = &resnetv2_family,
         .arch = &(const struct resnetv2){.depth = {1, 1, 1, 1},
                                          .width = {8, 16, 16, 16},
                                          .stem_width = 8,
                                          .stem = RESNETV2_STEM_TIERED,
                                          .basic = true,
                                          .avg_shortcut = true}),
     .height = 35,
     .width = 42},
    {.name = "resnet_sk",
     RESNET(.block = "BB", .depth = {1, 1}, .planes = {8, 16}, .selective = {8, 8, true}),
     .height = 35,
     .width = 42,
     .fold_bn = true},
    {.name = "vgg",
     OWN(.name = "vgg", .family = &vgg_family,
         .arch = &(
             const struct vgg){.norm = true, .depth = {1, 2}, .width = 8, .hidden = 16}),
     .height = 21,
     .width = 33,
     .fold_bn = true},
    {.name = "densenet",
     OWN(.name = "densenet", .family = &densenet_family,
         .arch = &(const struct densenet){8, {1, 2}, true, true}),
     .height = 32,
     .width = 39},
    {.name = "inception",
     OWN(.name = "inception", .family = &inception_family,
         .arch = &(const struct inception){4}),
     .height = 75,
     .width = 82,
     .fold_bn = true},
    {.name = "ghostnet",
     OWN(.name = "ghostnet", .family = &ghostnet_family,
         .arch = &(const struct ghostnet){.blocks = ghost, .v2 = true}),
     .height = 30,
     .width = 37},
    {.name = "mobilenetv2",
     OWN(.name = "mobilenetv2", .family = &mobilenetv2_family,
         .arch =
             &(const struct mobile){.blocks = lite,
                                    .stem = 8,
                                    .features = 16,
                                    .act = "relu",
                                    .act_number = 6}),
     .height = 32,
     .width = 40,
     .fold_bn = true},
    {.name = "regression",
     RESNET(.block = "BBB", .depth = {1, 1, 1}, .planes = {8, 8, 8},
            .stem = RESNET_STEM_3X3, .shortcut = RESNET_SHORTCUT_PAD, .cifar = true),
     .height = 8,
     .width = 8,
     .task = MODEL_REGRESSION},
    {.name = "ordinal",
     RESNET(.block = "BBB", .depth = {1, 1, 1}, .planes = {8, 8, 8},
            .stem = RESNET_STEM_3X3, .shortcut = RESNET_SHORTCUT_PAD, .cifar = true),
     .height = 8,
     .width = 8,
     .task = MODEL_ORDINAL},
    {.name = "resnet_q",
     RESNET(.block = "BNBB", .depth = {1, 1, 1, 0}, .planes = {8, 8, 16, 16}),
     .height = 32,
     .width = 32,
     .quantized = true},
    {.name = "vit_q",
     OWN(.name = "vit", .family = &vit_family,
         .arch = &(const struct vit){.patch = 4, .width = 24, .depth = 1, .heads = 3}),
     .height = 12,
     .width = 16,
     .quantized = true},
#define ARCHIVE(NAME, SIDE)                                                              \
    {                                                                                    \
        .name = "pt2_" NAME, .type = "pt2", .model = "tests/golden/pt2/" NAME ".pt2",    \
        .height = SIDE, .width = SIDE                                                    \
    }
    ARCHIVE("residual", 8),
    ARCHIVE("tokens", 8),
    ARCHIVE("moves", 8),
    ARCHIVE("general", 8),
    ARCHIVE("strides", 4),
    ARCHIVE("constants", 8),
    ARCHIVE("picks", 8),
    ARCHIVE("norms", 8),
    ARCHIVE("writes", 8),
#define LARGE(TYPE, MODEL, SIDE, FOLD)                                                   \
    {                                                                                    \
        .name = MODEL, .type = TYPE, .model = MODEL, .height = SIDE, .width = SIDE,      \
        .fold_bn = FOLD, .large = true                                                   \
    }
    LARGE("resnet", "resnet50", 224, true),
    LARGE("resnet", "resnet50d", 224, false),
    LARGE("resnet", "seresnet50", 224, false),
    LARGE("resnet", "resnet20", 32, true),
    LARGE("erfnet", "erfnet", 256, true),
    LARGE("erfnet", "erfnet_encoder", 256, false),
    LARGE("swin", "swin_tiny_patch4_window7_224", 224, false),
    LARGE("swinv2", "swinv2_tiny_window8_256", 256, false),
    LARGE("swin_mlp", "swin_mlp_tiny_c24_patch4_window8_256", 256, false),
    LARGE("vit", "vit_tiny_patch16_224", 224, false),
    LARGE("vit", "deit_tiny_distilled_patch16_224", 224, false),
    LARGE("convnext", "convnext_tiny", 224, false),
    LARGE("convnext", "convnextv2_atto", 224, false),
    LARGE("regnet", "regnety_002", 224, false),
    LARGE("vgg", "vgg11", 224, false),
    LARGE("densenet", "densenet121", 224, false),
    LARGE("resnet", "ecaresnet26t", 224, false),
    LARGE("resnet", "resnetaa50", 224, false),
    LARGE("resnet", "skresnext50_32x4d", 224, false),
    LARGE("resnetv2", "resnetv2_50x1_bit", 224, false),
    LARGE("resnetv2", "resnetv2_50d_gn", 224, false),
    LARGE("inception", "inception_v3", 299, true),
    LARGE("ghostnet", "ghostnetv2_100", 224, true),
    LARGE("efficientnet", "tf_efficientnet_b0", 224, false),
    LARGE("efficientnet", "efficientnet_lite0", 224, true),
    LARGE("mobilenetv3", "tf_mobilenetv3_large_100", 224, false),
    LARGE("mobilenetv4", "mobilenetv4_conv_small", 224, true),
    {.name = NULL},
};

static const struct model *model_of(const struct onnx_net *net)
{
    struct strbuf why = STRBUF_INIT;
    const struct model *m =
        net->custom ? net->custom : model_find(net->type, net->model, &why);

    if (!m)
        fail_msg("%s", why.buf);
    strbuf_release(&why);
    return m;
}

static bool ends_with(const char *name, const char *end)
{
    size_t len = strlen(name), n = strlen(end);

    return len > n && !strcmp(name + len - n, end);
}

/*
 * Statistics of batch norms also differ from their initial values. With 16 undamped
 * blocks, the last bit of a pixel would change the fourth digit of a logit.
 */
static float weight(const struct tensor *t, int64_t i)
{
    struct tensor as_vector = *t;

    if (ends_with(t->name, QLAYER_WEIGHT_NAME)) {
        double max =
            sqrt(6.0 / (double)(tensor_len(t) / t->dim[0])); /* same as golden_formula */

        return rintf(golden_formula(&(struct trial){0}, t, i) / (float)max * 127);
    }
    if (ends_with(t->name, QLAYER_WEIGHT_SCALE_NAME))
        return (0.3f + golden_formula(&(struct trial){0}, t, i)) / 127;
    if (ends_with(t->name, QLAYER_INPUT_SCALE_NAME))
        return (4 + golden_formula(&(struct trial){0}, t, i)) / 127;
    if (t->kind == TENSOR_PARAM)
        return golden_formula(&(struct trial){0}, t, i) *
               (strstr(t->name, ".bn3.weight") ? 0.2f : 1);
    as_vector.kind = TENSOR_PARAM;
    return t->init.value + golden_formula(&(struct trial){0}, &as_vector, i) * 2;
}

/* Replaces the net by its int8 version, all layers. */
static void quantize_trial(struct onnx_trial *t, struct builder *b)
{
    const struct quantized_choice all = {.first = true, .last = true};
    struct tensor **map;

    t->floats = b->g;
    t->g = b->g = graph_new(&graph_ops_default, false);
    quantized_net(b, t->floats, t->logits, &all, &map);
    t->x = map[t->x->id];
    t->logits = map[t->logits->id];
    free(map);
}

static struct tensor *unit(struct builder *b, const struct tensor *values,
                           const char *name)
{
    return graph_param(b, "target", name, LAYOUT_PLAIN, 1, &values->dim[1],
                       (struct init){INIT_CONSTANT, 1});
}

void onnx_trial_init(struct onnx_trial *t, const struct onnx_net *net, int64_t batch)
{
    struct builder b = {.g = graph_new(&graph_ops_default, false)};
    const int64_t dim[] = {batch, 3, net->height, net->width};

    *t = (struct onnx_trial){.g = b.g};
    t->x = graph_input(&b, "input", DTYPE_F32, LAYOUT_IMAGE, 4, dim);
    t->logits =
        model_build(&b, model_of(net), &(struct model_options){.classes = 5}, t->x);
    if (net->task == MODEL_REGRESSION)
        t->logits = unscale(&b, t->logits, unit(&b, t->logits, "mean"),
                            unit(&b, t->logits, "std"), "target");
    if (net->task == MODEL_ORDINAL)
        t->logits = corn(&b, t->logits, "ordinal");
    if (net->quantized)
        quantize_trial(t, &b);
    graph_flatten(b.g);
    graph_output(b.g, t->logits);
    t->flat = xcalloc((size_t)b.g->flat->weights_len, sizeof(*t->flat));
    for (int s = 0; s < b.g->flat->nsegment; s++) {
        const struct segment *seg = &b.g->flat->segment[s];

        for (int64_t i = 0; i < seg->len; i++)
            t->flat[seg->offset + golden_stored(seg->tensor, i)] = weight(seg->tensor, i);
    }
}

void onnx_trial_release(struct onnx_trial *t)
{
    graph_free(t->g);
    if (t->floats)
        graph_free(t->floats);
    free(t->flat);
}

struct onnx *onnx_trial_export(const struct onnx_trial *t, const struct onnx_net *net)
{
    const struct onnx_options o = {.fold_bn = net->fold_bn};

    return onnx_export(t->g, t->x, t->logits, t->flat, net->name, &o);
}

float *onnx_trial_images(const struct onnx_trial *t)
{
    int64_t len = tensor_len(t->x);
    float *x = xmalloc((size_t)len * sizeof(*x));

    for (int64_t i = 0; i < len; i++)
        x[i] = (float)(golden_hash((uint32_t)i) >> 8) * 0x1p-22f - 2;
    return x;
}

/* Converts to the stored layout, or back. */
static float *stored(const struct tensor *t, const float *src, bool back)
{
    float *dst = xmalloc(tensor_size(t));

    for (int64_t i = 0; i < tensor_len(t); i++)
        dst[back ? i : golden_stored(t, i)] = src[back ? golden_stored(t, i) : i];
    return dst;
}

float *onnx_trial_run(struct onnx_trial *t, const float *images)
{
    struct device_options o = {0};
    const struct backend *backend = device_find(t->floats ? "ref" : "cpu", &o);
    struct device *dev = backend->open(&o);
    struct program *p = program_compile(t->g, backend, dev, &(struct compile_options){0});
    void *base[MEMORY_COUNT] = {NULL};
    float *x = stored(t->x, images, false), *z = xmalloc(tensor_size(t->logits)), *y;

    for (int m = 0; m < MEMORY_COUNT; m++)
        if (program_need(p, (enum memory)m))
            base[m] = backend->alloc(dev, program_need(p, (enum memory)m));
    program_bind(p, base);
    backend->copy_in(dev, base[MEMORY_WEIGHTS], t->flat,
                     (size_t)t->g->flat->weights_len * sizeof(float));
    program_refresh(p);
    backend->copy_in(dev, program_data(p, t->x), x, tensor_size(t->x));
    program_run(p);
    backend->copy_out(dev, z, program_data(p, t->logits), tensor_size(t->logits));
    y = stored(t->logits, z, true);
    program_free(p);
    for (int m = 0; m < MEMORY_COUNT; m++)
        if (base[m])
            backend->free(dev, base[m]);
    backend->close(dev);
    free(x);
    free(z);
    return y;
}
