/*
 * grads_accumulate: the gradients of several micro-batches in one sum.
 *
 *   in     grads (fp32, [trained_len]), control
 *   state  sum (fp32, [trained_len])
 *
 * The first micro-batch of an update (ops/accumulation_formula.h) overwrites the sum, the
 * others add, so nobody has to clear it.
 */
#ifndef OPS_GRADS_ACCUMULATE_H
#define OPS_GRADS_ACCUMULATE_H

#include "graph/graph.h"
#include "ops/accumulation_formula.h"

struct grads_accumulate_attrs {
    const char *layer;
    struct accumulation accumulation;
};

extern const struct op op_grads_accumulate;

enum { GRADS_ACCUMULATE_GRADS, GRADS_ACCUMULATE_CONTROL };

void grads_accumulate(struct builder *b, struct tensor *grads, struct tensor *control,
                      struct tensor *sum, struct accumulation accumulation);

#endif
