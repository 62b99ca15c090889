/*
 * constant: a plain tensor of the same numbers in each step, such as a table of sines or a
 * mask. It has no inputs.
 *
 *   y = constant(&b, "attn.mask", .ndim = 2, .dim = {49, 49}, .data = mask)
 *
 * The numbers must live as long as the graph. Always fp32.
 */
#ifndef OPS_CONSTANT_H
#define OPS_CONSTANT_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct constant_attrs {
    const char *layer;
    int ndim;
    int64_t dim[TENSOR_DIMS];
    const float *data;
};

#define constant(b, ...)                                                                 \
    constant_((b), &(const struct constant_attrs){.layer = __VA_ARGS__})
struct tensor *constant_(struct builder *b, const struct constant_attrs *a);

extern const struct op op_constant;

#ifdef __cplusplus
}
#endif

#endif
