/* Shared by the convolution kernels. */
#ifndef CPU_CONV2D_H
#define CPU_CONV2D_H

#include "cpu/onednn.h"
#include "graph/graph.h"

/* Returns the geometry of a convolution from its attributes; x and y as in the forward pass. */
struct onednn_conv conv2d_geometry(const struct node *n, const struct tensor *x,
                                   const struct tensor *y,
                                   enum onednn_direction direction);

#endif
