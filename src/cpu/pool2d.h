/* Pooling helpers for cpu/down.c. */
#ifndef CPU_POOL2D_H
#define CPU_POOL2D_H

#include "cpu/simd/loops.h"
#include "graph/graph.h"

/* Returns the geometry of a maxpool2d; y: the tensor that contains its channels. */
struct pool pool2d_max(const struct node *n, const struct tensor *x,
                       const struct tensor *y);

#endif
