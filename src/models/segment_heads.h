/*
 * Parts of segmentation nets with the names of segmentation-models-pytorch ("smp") and
 * torchvision. `n` initializes the convolutions.
 */
#ifndef MODELS_SEGMENT_HEADS_H
#define MODELS_SEGMENT_HEADS_H

#include "models/blocks.h"

/* A net under construction as most of smp's decoders are initialized. */
struct net smp_decoder(struct builder *b, const struct model_options *o);
/* The same with PyTorch's own initialization: torchvision's nets, and smp's DeepLabs, which
 * do not initialize their decoders. */
struct net pytorch_decoder(struct builder *b, const struct model_options *o);

/* smp's SegmentationHead: a convolution "segmentation_head.0" to the classes, then bilinear
 * (corners aligned) to height x width. */
struct tensor *smp_head(struct net *n, struct tensor *x, int kernel, int height,
                        int width);

/* torchvision's FCNHead: 3x3 convolution to a quarter of the channels, batch norm, ReLU,
 * dropout, 1x1 convolution to the classes; then bilinear to height x width. */
struct tensor *fcn_head(struct net *n, struct tensor *x, const char *prefix, float drop,
                        int height, int width);

struct aspp_attrs {
    const char *prefix;
    int out;
    const int *rates; /* 3 */
    int separable;    /* 1: dilated convolutions are depthwise, then 1x1 */
    float drop;       /* rate of the dropout at the end */
};

/* Atrous spatial pyramid pooling (Chen et al. 2017, 1706.05587, section 3.3). */
#define aspp(n, x, ...) aspp_((n), (x), &(const struct aspp_attrs){.prefix = __VA_ARGS__})
struct tensor *aspp_(struct net *n, struct tensor *x, const struct aspp_attrs *a);

/* Depthwise convolution and 1x1 convolution, prefix.0 and prefix.1, without bias, batch
 * norm and ReLU after them. */
struct separable_attrs {
    const char *prefix; /* of the convolutions */
    const char *bn;     /* layer of the batch norm */
    int out, dilation;
};
#define separable_bn(n, x, ...)                                                          \
    separable_bn_((n), (x), &(const struct separable_attrs){.prefix = __VA_ARGS__})
struct tensor *separable_bn_(struct net *n, struct tensor *x,
                             const struct separable_attrs *a);

#endif
