/*
 * grads_accumulate: sums the gradients of several micro-batches.
 *
 *   in     grads (fp32, a range of the flat gradients), control, [gradients in that range]
 *   state  sum (fp32, the same range)
 *
 * The first micro-batch of an update (ops/accumulation_formula.h) overwrites the sum, and
 * the others add, so it need not be cleared.
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

enum { GRADS_ACCUMULATE_GRADS, GRADS_ACCUMULATE_CONTROL, GRADS_ACCUMULATE_IN };
enum { GRADS_ACCUMULATE_SOME = 240 }; /* maximum gradients per node */

/* In the update phase, or before it with the n gradients on which it depends. */
void grads_accumulate(struct builder *b, struct tensor *grads, struct tensor *control,
                      struct tensor *sum, struct accumulation accumulation);
void grads_accumulate_some(struct builder *b, struct tensor *grads,
                           struct tensor *control, struct tensor *sum,
                           struct accumulation accumulation, struct tensor *const *grad,
                           int n);

#endif
