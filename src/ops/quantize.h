/*
 * quantize: floats to 8 bits, y = x / scale rounded to nearest (quantize_formula.h).
 * `scale` is a parameter of one number. y is int8 in [-128, 127], or with .is_unsigned
 * uint8 in [0, 255], which suits the output of a ReLU. Its dtype is DTYPE_U8 in both
 * cases; the node defines the sign (qlayer_is_unsigned).
 *
 *   q = quantize(&b, x, scale, "layer1.0.conv1", .is_unsigned = 1)
 */
#ifndef OPS_QUANTIZE_H
#define OPS_QUANTIZE_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct quantize_attrs {
    const char *layer;
    int is_unsigned;
};

enum { QUANTIZE_X, QUANTIZE_SCALE };

#define quantize(b, x, scale, ...)                                                       \
    quantize_((b), (x), (scale), &(const struct quantize_attrs){.layer = __VA_ARGS__})
struct tensor *quantize_(struct builder *b, struct tensor *x, struct tensor *scale,
                         const struct quantize_attrs *a);

extern const struct op op_quantize;

#ifdef __cplusplus
}
#endif

#endif
