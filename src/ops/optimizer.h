/*
 * The optimizers as nodes; arrays and rules are in ops/update.h, arithmetic in
 * ops/sgd_formula.h, ops/adam_formula.h and ops/rmsprop_formula.h.
 *
 * state[]: weights, then moments. sgd: one moment (none if momentum is 0); adam: mean and
 * mean square; rmsprop: momentum and mean square. Moments are zero before the first
 * update. `.update.segment` is not copied: it lives in the graph's arena.
 */
#ifndef OPS_OPTIMIZER_H
#define OPS_OPTIMIZER_H

#include "graph/graph.h"
#include "ops/update.h"

struct sgd_attrs {
    const char *layer;
    struct update update;
    float momentum;
    int nesterov;
};

struct adam_attrs {
    const char *layer;
    struct update update;
    double beta1, beta2, eps;
    int decoupled; /* AdamW */
};

struct rmsprop_attrs {
    const char *layer;
    struct update update;
    double alpha, momentum, eps;
};

extern const struct op op_sgd, op_adam, op_rmsprop;

/* `op` is one of them, `attrs` of its type; state as above. */
void optimizer(struct builder *b, const struct op *op, const void *attrs,
               struct tensor *grads, struct tensor *control, struct tensor *const *state,
               int nstate);

/* For the ops themselves: sizes and segments are sound; the operations of an update. */
const char *optimizer_check(const struct node *n, const struct update *u, int nstate);
int64_t optimizer_elements(const struct update *u);

#endif
