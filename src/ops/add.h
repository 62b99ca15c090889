/*
 * add: the sum of two or more tensors of one shape. Its gradient is dy for each of them.
 */
#ifndef OPS_ADD_H
#define OPS_ADD_H

#include "graph/graph.h"

struct tensor *add(struct builder *b, struct tensor *x, struct tensor *y,
                   const char *layer);

extern const struct op op_add;

#endif
