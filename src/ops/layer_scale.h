/*
 * layer_scale: y = x gamma, a factor per channel: the last dim of a plain tensor, or the
 * channels of an image. Touvron et al. 2021 (CaiT, arXiv 2103.17239).
 *
 *   x = layer_scale(&b, x, "blocks.0.ls1", .init = 1e-5f)
 *
 * creates "blocks.0.ls1.gamma", fp32 [C], all `init`, unless gamma is given: state dicts
 * that list it before other parameters need it created early,
 *
 *   gamma = layer_scale_gamma(&b, "stages.0.blocks.0", channels, 1e-6f);
 *   x = layer_scale(&b, x, "stages.0.blocks.0", .gamma = gamma)
 *
 * dx is layer_scale(dy, gamma); dgamma = sum over positions of x dy.
 */
#ifndef OPS_LAYER_SCALE_H
#define OPS_LAYER_SCALE_H

#include "graph/graph.h"

struct layer_scale_attrs {
    const char *layer;
    float init;           /* 0: 1e-5 */
    struct tensor *gamma; /* optional; becomes an input of the node, where this is NULL */
};

enum { LAYER_SCALE_X, LAYER_SCALE_GAMMA };
enum { LAYER_SCALE_GAMMA_GRAD_X, LAYER_SCALE_GAMMA_GRAD_DY }; /* dgamma, fp32 */

#define layer_scale(b, x, ...)                                                           \
    layer_scale_((b), (x), &(const struct layer_scale_attrs){.layer = __VA_ARGS__})
struct tensor *layer_scale_(struct builder *b, struct tensor *x,
                            const struct layer_scale_attrs *a);

/* Makes "layer.gamma". */
struct tensor *layer_scale_gamma(struct builder *b, const char *layer, int64_t channels,
                                 float init);

extern const struct op op_layer_scale, op_layer_scale_gamma_grad;

#endif
