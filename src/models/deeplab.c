#include "models/deeplab.h"

#include <string.h>

#include "models/backbone.h"
#include "models/image_size.h"
#include "models/rows.h"
#include "models/segment_heads.h"
#include "ops/concat.h"
#include "ops/image.h"
#include "ops/resample.h"

enum { WIDTH = 256, LOW = 48 }; /* channels of the decoder; of the low-level features */

static const int rates[] = {12, 24, 36};
static const double aux_weight = 0.5; /* torchvision's references/segmentation */

static bool of_torchvision(const struct deeplab *a)
{
    return a->kind == DEEPLAB_TORCHVISION || a->kind == FCN_TORCHVISION;
}

static struct tensor *decode_v3(struct net *n, const struct deeplab *a,
                                const struct backbone *k, int height, int width)
{
    struct tensor *x = aspp(n, backbone_last(n->b, k), "decoder.aspp", .out = WIDTH,
                            .rates = rates, .drop = a->drop);

    x = conv_bn(n, x, "decoder", "conv", "bn", "relu", .out = WIDTH, .kernel = 3);
    return smp_head(n, x, 1, height, width);
}

/* Figure 2 of the paper of V3+. */
static struct tensor *decode_v3plus(struct net *n, const struct deeplab *a,
                                    const struct backbone *k, int height, int width)
{
    struct tensor *low = backbone_map(n->b, k, 4), *part[2], *x;

    x = aspp(n, backbone_last(n->b, k), "decoder.aspp.0", .out = WIDTH, .rates = rates,
             .separable = 1, .drop = a->drop);
    x = separable_bn(n, x, "decoder.aspp.1", "decoder.aspp.2", .out = WIDTH);
    part[0] = resample(n->b, x, "decoder.up", .out_h = (int)low->dim[IMAGE_H],
                       .out_w = (int)low->dim[IMAGE_W], .align_corners = 1);
    part[1] = conv_bn(n, low, "decoder.block1", "0", "1", "2", .out = LOW, .kernel = 1);
    x = concat(n->b, part, 2, "decoder.concat");
    x = separable_bn(n, x, "decoder.block2.0", "decoder.block2.1", .out = WIDTH);
    return smp_head(n, x, 1, height, width);
}

static struct tensor *decode_torchvision(struct net *n, const struct deeplab *a,
                                         const struct backbone *k, int height, int width)
{
    struct tensor *x = backbone_last(n->b, k), *aux;

    if (a->kind == FCN_TORCHVISION) {
        x = fcn_head(n, x, "classifier", a->drop, height, width);
    } else {
        x = aspp(n, x, "classifier.0", .out = WIDTH, .rates = rates, .drop = a->drop);
        x = conv_bn(n, x, "classifier", "1", "2", "3", .out = WIDTH, .kernel = 3);
        x = conv_bias(n, x, "classifier.4", (int)n->o->classes, 1, INIT_RULE_PYTORCH);
        x = resample(n->b, x, "classifier.up", .out_h = height, .out_w = width);
    }
    if (model_aux_weight(n->o, aux_weight) == 0)
        return x;
    aux = fcn_head(n, backbone_before_last(n->b, k), "aux_classifier",
                   a->drop > 0 ? 0.1f : 0, height, width);
    model_aux(n->o, aux, aux_weight);
    return x;
}

static int stride_of(const struct deeplab *a, const struct model_options *o)
{
    return o->output_stride ? (int)o->output_stride : a->output_stride;
}

static struct tensor *deeplab_build(struct builder *b, const struct model *m,
                                    const struct model_options *o, struct tensor *x)
{
    const struct deeplab *a = m->arch;
    struct model_options options = *o;
    struct net n = pytorch_decoder(b, o);
    int height = (int)x->dim[IMAGE_H], width = (int)x->dim[IMAGE_W];
    struct backbone k;

    options.output_stride = stride_of(a, o);
    options.dilates_first = !of_torchvision(a);
    backbone_build(b, m, &options, x, &k);
    if (model_stage(o, "backbone", stride_of(a, o), backbone_last(b, &k)))
        return NULL;
    if (a->kind == DEEPLAB_V3)
        return decode_v3(&n, a, &k, height, width);
    if (a->kind == DEEPLAB_V3PLUS)
        return decode_v3plus(&n, a, &k, height, width);
    return decode_torchvision(&n, a, &k, height, width);
}

static const char *const *check(const struct model *m, const struct model_options *o,
                                int height, int width, struct strbuf *why)
{
    static const char *const stride[] = {"MODEL.OUTPUT_STRIDE", NULL};
    static const char *const backbone[] = {"MODEL.BACKBONE", "MODEL.NAME", NULL};
    const struct model *src = backbone_of(m, o, why);
    const struct deeplab *a = m->arch;
    int s = stride_of(a, o);

    if (src && !backbone_dilates(src)) {
        strbuf_addf(why, "%s needs a backbone with dilated convolutions, not %s", m->name,
                    src->name);
        return backbone;
    }

    if (s != 8 && s != 16) {
        strbuf_addf(why, "MODEL.OUTPUT_STRIDE of %s must be 8 or 16, not %d", m->name, s);
        return stride;
    }
    return of_torchvision(a) ? NULL : size_multiple_of(m, s, height, width, why);
}

#define NET(which, stride, rate, encoder, prefix)                                        \
    .family = &deeplab_family, .classes = 21, .label_divisor = 1, .tags = "",            \
    .backbone = (encoder), .backbone_prefix = (prefix), .arch = &(const struct deeplab)  \
    {                                                                                    \
        .kind = (which), .output_stride = (stride), .drop = (rate)                       \
    }

/* clang-format off */
static const struct model models[] = {
    {ROW(deeplabv3plus), NET(DEEPLAB_V3PLUS, 16, 0.5f, "resnet34", "encoder."), IMAGENET(512, 1), RECIPE "deeplabv3plus.yaml"},
    {ROW(deeplabv3), NET(DEEPLAB_V3, 8, 0.5f, "resnet34", "encoder."), IMAGENET(512, 1)},
    {ROW(deeplabv3_resnet50), NET(DEEPLAB_TORCHVISION, 8, 0.5f, "resnet50", "backbone."), IMAGENET(520, 1)},
    {ROW(deeplabv3_resnet101), NET(DEEPLAB_TORCHVISION, 8, 0.5f, "resnet101", "backbone."), IMAGENET(520, 1)},
    {ROW(fcn_resnet50), NET(FCN_TORCHVISION, 8, 0.1f, "resnet50", "backbone."), IMAGENET(520, 1)},
    {ROW(fcn_resnet101), NET(FCN_TORCHVISION, 8, 0.1f, "resnet101", "backbone."), IMAGENET(520, 1)},
    {.name = NULL},
};
/* clang-format on */

static const char *const reads[] = {"MODEL.NUM_CLASSES",
                                    "MODEL.BACKBONE",
                                    "MODEL.DROP_PATH_RATE",
                                    "MODEL.INIT",
                                    "MODEL.OUTPUT_STRIDE",
                                    "MODEL.AUX_WEIGHT",
                                    NULL};

static const char *const heads[] = {"segmentation_head.0", "classifier.4",
                                    "aux_classifier.4", NULL};

static const char *const aux[] = {"aux_classifier", NULL};

const struct model_family deeplab_family = {
    .type = "deeplab",
    .task = MODEL_SEGMENT,
    .models = models,
    .reads = reads,
    .heads = heads,
    .aux = aux,
    .build_model = deeplab_build,
    .check = check,
};
