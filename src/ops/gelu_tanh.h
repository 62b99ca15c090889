/* MODEL.GELU_TANH: a graph edit before autodiff. */
#ifndef OPS_GELU_TANH_H
#define OPS_GELU_TANH_H

#include "graph/graph.h"

/*
 * Gives each GELU of the graph its tanh form, which GPUs fuse into linear layers; it
 * differs from the form with erf by up to 4.7e-4. Returns the number of changed
 * instructions.
 */
int gelu_use_tanh(struct graph *g);

#endif
