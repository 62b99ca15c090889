/*
 * The formulas of the optimizers. ops/NAME_formula.h, compiled for host and device, has
 *
 *   struct NAME_rule                 the numbers of one segment in one update; a member
 *                                    struct update_rule update
 *   NAME_rule(a, s, c)               makes them, from the node's attributes, the segment
 *                                    and the control
 *   NAME_element(w, m1, m2, g, r)    updates a weight and its moments; it must not touch
 *                                    a moment that the optimizer does not have
 *
 * and its line in the list makes op_NAME, its reference and the kernels of all backends.
 */
#ifndef OPS_OPTIMIZER_LIST_H
#define OPS_OPTIMIZER_LIST_H

#include "ops/adam_formula.h"
#include "ops/lion_formula.h"
#include "ops/rmsprop_formula.h"
#include "ops/sgd_formula.h"

#define OPTIMIZER_LIST(X)                                                                \
    X(sgd)                                                                               \
    X(adam)                                                                              \
    X(rmsprop)                                                                           \
    X(lion)

#define OPTIMIZER_OP_DECLARED(NAME) extern const struct op op_##NAME;
OPTIMIZER_LIST(OPTIMIZER_OP_DECLARED)

#endif
