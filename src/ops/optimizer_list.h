/*
 * The formulas of the optimizers. ops/NAME_formula.h, compiled for host and device,
 * defines
 *
 *   struct NAME_rule                 the values of one segment in one update; a member
 *                                   struct update_rule update
 *   NAME_rule(a, s, c)               makes them, from the node's attributes, the segment,
 *                                   and the control
 *   NAME_element(w, m1, m2, g, r)    updates a weight and its moments; it must not touch
 *                                   a moment that the optimizer does not have
 *
 * and its line in the list generates op_NAME, its reference, and the kernels of all
 * backends.
 *
 * An optimizer with trust ratios, T in the list, reads all elements of a segment before
 * it updates one. For segments that adapt (update_adapts), r->update.trust is then the
 * result of NAME_trust; for others it is 1.
 *
 *   NAME_measured(w, m1, m2, g, r)   the second quantity measured per element, after its
 *                                   weight
 *   NAME_trust(a, s, c, w, x)        the ratio, from the L2 norms of the segment's weights
 *                                   and of the measured quantity
 *
 * Norms are sums of squares in double over fixed pieces in a fixed order, so they do not
 * depend on the number of threads.
 */
#ifndef OPS_OPTIMIZER_LIST_H
#define OPS_OPTIMIZER_LIST_H

#include "ops/adam_formula.h"
#include "ops/lamb_formula.h"
#include "ops/lars_formula.h"
#include "ops/lion_formula.h"
#include "ops/rmsprop_formula.h"
#include "ops/sgd_formula.h"

#define OPTIMIZER_LIST(X, T)                                                             \
    X(sgd)                                                                               \
    X(adam)                                                                              \
    X(rmsprop)                                                                           \
    X(lion)                                                                              \
    T(lamb)                                                                              \
    T(lars)

#define OPTIMIZER_OP_DECLARED(NAME) extern const struct op op_##NAME;
OPTIMIZER_LIST(OPTIMIZER_OP_DECLARED, OPTIMIZER_OP_DECLARED)

#endif
