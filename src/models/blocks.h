/*
 * What families have in common: convolution with batch norm and activation, squeeze and
 * excitation, stochastic depth, dilation in place of strides. A family's own struct
 * contains a `struct net`:
 *
 *   struct net n = {.b = b, .o = o, .nblock = 16, .reduction = 4};
 *
 *   y = conv_bn(&n, x, "layer1.0", "conv1", "bn1", "act1", .out = 64, .kernel = 3);
 *   y = squeeze_excite(&n, y, "layer1.0.se", .width = 16);
 *   y = net_drop_path(&n, y, "layer1.0.drop_path");
 */
#ifndef MODELS_BLOCKS_H
#define MODELS_BLOCKS_H

#include "graph/graph.h"
#include "models/options.h"

/* A net under construction. */
struct net {
    struct builder *b;
    const struct model_options *o;
    int init;            /* enum init_rule of convolutions */
    const char *act;     /* name in ops/activation.h; NULL means relu */
    float act_number;    /* of the activation, if it has one (6: ReLU6); 0: its default */
    float eps, momentum; /* of batch norms; 0: PyTorch's */
    int norm_groups;     /* group norms instead of batch norms; 0: batch norms */
    bool same;           /* TensorFlow's padding (ops/conv2d.h) */
    int block, nblock;   /* residual blocks so far, and in the whole net */
    int reduction;       /* image size / map size so far; 1, or set after the stem */
    int dilation;        /* of the last stage; 0 is 1 */
    int strides;         /* layers so far that halve the map, or would */
};

/* Returns prefix.suffix, or only the suffix if the prefix is empty; lives as long as the
 * graph. */
char *layer_below(const struct builder *b, const char *prefix, const char *suffix);
char *layer_name(const struct net *n, const char *prefix, const char *suffix);

struct conv_bn_attrs {
    const char *prefix;
    const char *conv, *bn; /* layers below prefix */
    const char *act;       /* the same; NULL: no activation */
    int out, kernel, stride, dilation, groups;
    int zero_init; /* 1: the weight of the norm starts at 0 */
};

/* Convolution without bias, padded to keep the size (divided by stride, rounded up), then
 * batch norm (group norm if n has groups), then n->act. */
#define conv_bn(n, x, ...)                                                               \
    conv_bn_((n), (x), &(const struct conv_bn_attrs){.prefix = __VA_ARGS__})
struct tensor *conv_bn_(struct net *n, struct tensor *x, const struct conv_bn_attrs *a);

/* Convolution with bias, padded the same way. */
struct tensor *conv_bias(struct net *n, struct tensor *x, const char *layer, int out,
                         int kernel, int bias_init);

/* x, of at least 2 x 2 pixels, smoothed by [1 2 1] / 4 in both directions, every stride-th
 * pixel (1 or 2); beyond the border it is reflected. Zhang 2019 (1904.11486), timm's
 * BlurPool2d */
struct tensor *blur_pool(struct net *n, struct tensor *x, const char *layer, int stride);

struct squeeze_excite_attrs {
    const char *prefix;
    int width;             /* channels of fc1 */
    const char *fc1, *fc2; /* layers below prefix; NULL: these names */
    const char *act;       /* after fc1; NULL: relu */
    const char *gate;      /* after fc2; NULL: sigmoid */
    int bias_init;         /* enum init_rule */
};

/* x * gate(fc2(act(fc1(mean of x over its pixels)))), 1x1 convolutions with bias. Hu et
 * al. 2017 (1709.01507) */
#define squeeze_excite(n, x, ...)                                                        \
    squeeze_excite_((n), (x), &(const struct squeeze_excite_attrs){.prefix = __VA_ARGS__})
struct tensor *squeeze_excite_(struct net *n, struct tensor *x,
                               const struct squeeze_excite_attrs *a);

/* Ends the residual branch of the next block: block i of n is dropped at the rate
 * MODEL.DROP_PATH_RATE * i / (n - 1). */
struct tensor *net_drop_path(struct net *n, struct tensor *x, const char *layer);

/* Returns the stride of a layer that halves the map (2) or not (1), which is 1 in the
 * first MODEL.SKIP_STRIDES layers that halve it. Updates n->reduction. */
int net_stride(struct net *n, int stride);

/* Strides and dilations of the convolutions of a stage. */
struct stage_strides {
    int stride;   /* of the first block */
    int first;    /* dilation in the first block */
    int dilation; /* in the others */
};

/*
 * Begins a stage that would halve the map (stride 2) or not (1), as net_stride(). Where
 * the map is smaller by MODEL.OUTPUT_STRIDE already, dilation replaces the stride, as in
 * timm and torchvision: the first block still has the dilation of the stage before,
 * unless o->dilates_first.
 */
struct stage_strides net_stage(struct net *n, int stride);

#endif
