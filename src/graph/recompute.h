/*
 * Activation checkpointing as a graph edit (Chen et al., "Training deep nets with
 * sublinear memory cost", 2016): inside every scope (scope_begin/scope_end), forward
 * nodes whose results the backward phase reads are duplicated into the backward phase,
 * right before their first reader, and the readers use the copies. The memory pass then
 * finds short lifetimes by itself. Random masks repeat because they are functions of the
 * step, not of the call; statistics are not recomputed.
 *
 * Call after autodiff and precision, on a graph with or without update nodes. Returns the
 * number of duplicated nodes.
 */
#ifndef GRAPH_RECOMPUTE_H
#define GRAPH_RECOMPUTE_H

#include "graph/graph.h"

int recompute(struct graph *g);

#endif
