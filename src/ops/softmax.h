/*
 * softmax: y_i = exp(x_i - max x) / sum_j exp(x_j - max x) over the last dim of a plain
 * tensor. The gradient reads y: dx = y (dy - sum y dy). Always fp32.
 */
#ifndef OPS_SOFTMAX_H
#define OPS_SOFTMAX_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SOFTMAX_X };
enum { SOFTMAX_GRAD_Y, SOFTMAX_GRAD_DY };

struct tensor *softmax(struct builder *b, struct tensor *x, const char *layer);

extern const struct op op_softmax, op_softmax_grad;

#ifdef __cplusplus
}
#endif

#endif
