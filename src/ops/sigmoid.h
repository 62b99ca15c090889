/*
 * sigmoid: y = 1 / (1 + exp(-x)). The gradient reads y: dx = dy y (1 - y).
 */
#ifndef OPS_SIGMOID_H
#define OPS_SIGMOID_H

#include "graph/graph.h"

enum { SIGMOID_X };
enum { SIGMOID_GRAD_Y, SIGMOID_GRAD_DY };

struct tensor *sigmoid(struct builder *b, struct tensor *x, const char *layer);

extern const struct op op_sigmoid, op_sigmoid_grad;

#endif
