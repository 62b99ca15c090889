/*
 * The ResNet family as timm builds it: He et al. 2015 (1512.03385) with the stride in the
 * 3x3 ("v1.5"), ResNeXt (Xie et al. 2016, 1611.05431), wide ResNet (Zagoruyko and
 * Komodakis 2016, 1605.07146), the stems and shortcuts of "Bag of tricks" (He et al.
 * 2018, 1812.01187), squeeze-and-excitation (Hu et al. 2017, 1709.01507), and the CIFAR
 * nets of the first paper. Parameters have timm's names and are made in the order of
 * timm's state dict.
 */
#ifndef MODELS_RESNET_H
#define MODELS_RESNET_H

#include <stdbool.h>

#include "graph/graph.h"
#include "models/options.h"

enum { RESNET_STAGES = 4 };

struct resnet {
    const char *block; /* a letter a stage: B basic (expansion 1), N bottleneck (4) */
    int depth[RESNET_STAGES], planes[RESNET_STAGES];
    enum resnet_stem stem;         /* none: RESNET_STEM_7X7 */
    enum resnet_shortcut shortcut; /* none: RESNET_SHORTCUT_CONV */
    int groups, base;              /* of the 3x3 in a bottleneck; 0: 1 and 64 */
    bool se;
    bool cifar; /* three stages; He initialisation by fan-in, last BN not zeroed */
};

/*
 * x is an image batch [N, C, H, W] of any size and C; returns logits [N, classes].
 * `arch` is a struct resnet. Every residual block is a checkpoint scope.
 */
struct tensor *resnet_build(struct builder *b, const void *arch,
                            const struct model_options *o, struct tensor *x);

#endif
