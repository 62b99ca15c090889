/*
 * grad_stats: checks that all gradients of an update are finite, and computes their norm.
 *
 *   in     grads (fp32, [trained_len]; or packed, see ops/half_grads.h), or in a group of
 *         processes the share of each
 *   state  control: overflow, grad_norm, and grad_multiplier are set by
 *         control_gradients() of ops/control_formula.h
 *
 * The squares are summed in double, which cannot overflow, so the sum is finite exactly
 * if every gradient is. A parallel kernel sums fixed blocks in a fixed order, so that the
 * norm does not depend on the number of threads.
 */
#ifndef OPS_GRAD_STATS_H
#define OPS_GRAD_STATS_H

#include "graph/graph.h"

extern const struct op op_grad_stats;

struct grad_stats_attrs {
    const char *layer;
    const struct collective *group; /* whose sums are added; NULL: single process */
    int64_t first, len;             /* range of the gradients to check */
};

void grad_stats(struct builder *b, struct tensor *grads, struct tensor *control);
/* `group` may be NULL: the sums are those of this process. `start` is a multiple of 16. */
void grad_stats_shared(struct builder *b, struct tensor *grads, struct tensor *control,
                       const struct collective *group, int64_t start, int64_t len);

#endif
