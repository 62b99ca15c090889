/* What cpu/down.c needs of the pools. */
#ifndef CPU_POOL2D_H
#define CPU_POOL2D_H

#include "cpu/simd/loops.h"
#include "graph/graph.h"

/* The geometry of a maxpool2d; y: the tensor that its channels lie in. */
struct pool pool2d_max(const struct node *n, const struct tensor *x,
                       const struct tensor *y);

#endif
