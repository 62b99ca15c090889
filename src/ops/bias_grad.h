/*
 * bias_grad: the gradient of a bias that was added to every position: db = sum of dy over
 * all dims but the channels (dim 1 of images, the last dim of plain tensors). fp32.
 */
#ifndef OPS_BIAS_GRAD_H
#define OPS_BIAS_GRAD_H

#include "graph/graph.h"

enum { BIAS_GRAD_DY };

struct tensor *bias_grad(struct builder *b, struct tensor *dy, const char *layer);

extern const struct op op_bias_grad;

#endif
