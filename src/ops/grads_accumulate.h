/*
 * grads_accumulate: the gradients of several micro-batches in one sum.
 *
 *   in     grads (fp32, [param_len]), control
 *   state  sum (fp32, [param_len])
 *
 * The first micro-batch of an update, control->micro % accumulation == 0, overwrites the
 * sum, the others add, so nobody has to clear it.
 */
#ifndef OPS_GRADS_ACCUMULATE_H
#define OPS_GRADS_ACCUMULATE_H

#include "graph/graph.h"

struct grads_accumulate_attrs {
    const char *layer;
    int accumulation; /* micro-batches in one update, at least 1 */
};

extern const struct op op_grads_accumulate;

enum { GRADS_ACCUMULATE_GRADS, GRADS_ACCUMULATE_CONTROL };

void grads_accumulate(struct builder *b, struct tensor *grads, struct tensor *control,
                      struct tensor *sum, int accumulation);

#endif
