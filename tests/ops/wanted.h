/*
 * What the reference computes for a row, in fp32, from values rounded as the options say. Results are kept until the program ends, since many devices are compared
 * with them.
 */
#ifndef TESTS_OPS_WANTED_H
#define TESTS_OPS_WANTED_H

#include "cases/case_run.h"

struct wanted {
    struct case_values values;
    int nout; /* the first values are outputs of the row; then gradients and state */
};

/* As case_run_init(), on the reference, and two runs, since rows with state change it in
 * each. Release it with case_run_release(). */
void wanted_run(struct case_run *r, const struct op_case *row,
                const struct case_options *o);

const struct wanted *wanted(const struct op_case *row, const struct case_options *o);

#endif
