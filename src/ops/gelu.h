/*
 * gelu: y = x Phi(x), the exact form with erf, or with .tanh = 1 its approximation.
 * Hendrycks and Gimpel 2016 (arXiv 1606.08415). The gradient is computed from x.
 * On the CPU y is within 5 units of the last place (8 without fused multiply-adds), 0.6
 * on average (1.1).
 *
 *   x = gelu(&b, x, "act")
 */
#ifndef OPS_GELU_H
#define OPS_GELU_H

#include "graph/graph.h"

struct gelu_attrs {
    const char *layer;
    int tanh; /* 1: the form with tanh */
};

enum { GELU_X };
enum { GELU_GRAD_X, GELU_GRAD_DY }; /* dx */

#define gelu(b, x, ...) gelu_((b), (x), &(const struct gelu_attrs){.layer = __VA_ARGS__})
struct tensor *gelu_(struct builder *b, struct tensor *x, const struct gelu_attrs *a);

extern const struct op op_gelu, op_gelu_grad;

#endif
