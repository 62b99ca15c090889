/*
 * Evaluates nodes whose operands are all constants (pt2/host.h): sines, position indices,
 * masks. pt2/table.h maps operators that only relabel dims, also for constants.
 */
#ifndef PT2_FOLD_H
#define PT2_FOLD_H

#include "pt2/positions.h"

/* Evaluates the current node if it is such a node. Returns false if it is not; a node that
 * is, but is not supported, is refused. */
bool pt2_fold(struct pt2_import *c);

/* ---- for the files of the evaluator ---- */

/* A function of one, two, or three numbers; `dtype` is the type of the first operand. */
typedef double pt2_fold_math(const double *x, int dtype);

/* A row: the operator's name between "aten." and the overload, without the underscore of
 * variants in place. */
struct pt2_fold_row {
    const char *name;
    void (*fold)(struct pt2_import *c, const struct pt2_fold_row *row);
    pt2_fold_math *math;
    double number; /* of rows that share a function */
    bool creates;  /* from nothing: its operands are only dims and types */
};

extern const struct pt2_fold_row pt2_fold_shapes[], pt2_fold_numbers[];

/* Returns the dtype of the current node's result. */
int pt2_fold_dtype(const struct pt2_import *c);
/* Sets the result, or writes it to the first operand if the node works in place. */
void pt2_fold_result(struct pt2_import *c, struct pt2_value v);
/* Returns an operand that is a constant. */
struct pt2_value pt2_fold_operand(struct pt2_import *c, const char *name);

#endif
