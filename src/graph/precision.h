/*
 * Mixed precision as a graph edit: gives every tensor its dtype and inserts casts.
 *
 * Levels are NVIDIA Apex's (its last release, 2025):
 *   O0  fp32 everywhere
 *   O1  each op by its class (graph/op.h)
 *   O2  everything half but losses, statistics, and weights of norms; fp32 master weights
 *   O3  as O2 without master weights: the optimizer rounds weights to half (ops/update.h)
 * Parameters, statistics and gradients of parameters are always stored in fp32.
 */
#ifndef GRAPH_PRECISION_H
#define GRAPH_PRECISION_H

#include "graph/graph.h"

enum amp_level { AMP_O0, AMP_O1, AMP_O2, AMP_O3 };

void precision(struct graph *g, enum amp_level level, enum dtype half);

#endif
