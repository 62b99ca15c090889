/* Shared by the linear kernels. */
#ifndef CPU_LINEAR_H
#define CPU_LINEAR_H

#include "cpu/onednn.h"
#include "graph/graph.h"

/* x and y as in the forward pass. */
struct onednn_linear linear_geometry(const struct tensor *x, const struct tensor *y,
                                     enum onednn_direction direction);

#endif
