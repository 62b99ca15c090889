/*
 * grads_join: unscales the gradients of several losses, each with its own scale, and sums
 * them.
 *
 *   in     grads (fp32, [losses * len]): those of loss k from k len on
 *   state  sum (fp32, [len]), control
 *
 *   sum[i] = grads[i] / scalers[0].scale + grads[len + i] / scalers[1].scale + ...
 *
 * It sets control.scalers[k].overflow if a gradient of loss k is not finite, as Apex's
 * scalers check the gradients of each backward phase separately. A sum that is not finite
 * then skips the update (ops/control_formula.h).
 */
#ifndef OPS_GRADS_JOIN_H
#define OPS_GRADS_JOIN_H

#include "graph/graph.h"
#include "ops/control.h"

struct grads_join_attrs {
    const char *layer;
    int losses; /* 2 to CONTROL_LOSSES */
};

extern const struct op op_grads_join;

enum { GRADS_JOIN_SUM, GRADS_JOIN_CONTROL }; /* out[] */

void grads_join(struct builder *b, struct tensor *grads, int losses, struct tensor *sum,
                struct tensor *control);

#endif
