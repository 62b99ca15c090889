/*
 * grad_stats: one look at all gradients of an update: are they finite, and how long.
 *
 *   in     grads (fp32, [trained_len])
 *   state  control: overflow, grad_norm and grad_multiplier are set by
 *          control_gradients() of ops/control_formula.h
 *
 * The squares are summed in double; that cannot overflow, so the sum is finite exactly
 * if every gradient is. A parallel kernel sums fixed blocks in a fixed order, so that
 * the norm does not depend on the number of threads.
 */
#ifndef OPS_GRAD_STATS_H
#define OPS_GRAD_STATS_H

#include "graph/graph.h"

extern const struct op op_grad_stats;

void grad_stats(struct builder *b, struct tensor *grads, struct tensor *control);

#endif
