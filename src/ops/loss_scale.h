/*
 * loss_scale: control.loss_scale / n as a tensor fp32 [1]: the seed of autodiff. n is the
 * number of runs in the current update (ops/accumulation_formula.h). If losses have their
 * own scales, control.scalers[own - 1].scale / n.
 */
#ifndef OPS_LOSS_SCALE_H
#define OPS_LOSS_SCALE_H

#include "graph/graph.h"
#include "ops/accumulation_formula.h"

struct loss_scale_attrs {
    const char *layer;
    struct accumulation accumulation;
    int overflow_at; /* for tests: see ops/loss_scale_formula.h */
    int scale;       /* 0: the scale of all losses */
};

enum { LOSS_SCALE_CONTROL };

/* seed = loss_scale(&b, "loss_scale", .accumulation = {4, batches}) */
#define loss_scale(b, ...)                                                               \
    loss_scale_((b), &(const struct loss_scale_attrs){.layer = __VA_ARGS__})
struct tensor *loss_scale_(struct builder *b, const struct loss_scale_attrs *a);

extern const struct op op_loss_scale;

#endif
