/*
 * relu: y = max(x, 0), at most `limit` if one is set (ReLU6: 6). NaN stays NaN. The
 * gradient reads y instead of x, so x need not be kept.
 */
#ifndef OPS_RELU_H
#define OPS_RELU_H

#include "graph/graph.h"

struct relu_attrs {
    const char *layer;
    float limit; /* largest output, exact in 16-bit floats; 0 (default): unlimited */
};

enum { RELU_X };
enum { RELU_GRAD_Y, RELU_GRAD_DY };

/* x = relu(&b, x, "stem.act", .limit = 6) */
#define relu(b, x, ...) relu_((b), (x), &(const struct relu_attrs){.layer = __VA_ARGS__})
struct tensor *relu_(struct builder *b, struct tensor *x, const struct relu_attrs *a);

extern const struct op op_relu, op_relu_grad;

#endif
