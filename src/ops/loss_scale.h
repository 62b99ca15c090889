/*
 * loss_scale: control.loss_scale * factor as a tensor fp32 [1]: the seed of autodiff.
 * `factor` is 1 / (number of accumulated runs).
 */
#ifndef OPS_LOSS_SCALE_H
#define OPS_LOSS_SCALE_H

#include "graph/graph.h"

struct loss_scale_attrs {
    const char *layer;
    float factor; /* 0: 1; never 0 in a node */
};

enum { LOSS_SCALE_CONTROL };

/* seed = loss_scale(&b, "loss_scale", .factor = 1.0f / n) */
#define loss_scale(b, ...)                                                               \
    loss_scale_((b), &(const struct loss_scale_attrs){.layer = __VA_ARGS__})
struct tensor *loss_scale_(struct builder *b, const struct loss_scale_attrs *a);

extern const struct op op_loss_scale;

#endif
