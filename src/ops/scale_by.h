/*
 * scale_by: y = factor x. The gradient is the same op on dy.
 *
 *   x = scale_by(&b, x, "mean", .factor = 0.5f)
 */
#ifndef OPS_SCALE_BY_H
#define OPS_SCALE_BY_H

#include "graph/graph.h"

struct scale_by_attrs {
    const char *layer;
    float factor;
};

enum { SCALE_BY_X };

#define scale_by(b, x, ...)                                                              \
    scale_by_((b), (x), &(const struct scale_by_attrs){.layer = __VA_ARGS__})
struct tensor *scale_by_(struct builder *b, struct tensor *x,
                         const struct scale_by_attrs *a);

extern const struct op op_scale_by;

#endif
