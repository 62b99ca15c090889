/*
 * Where does a row lose a NaN, or spread one? Runs two programs of the row once more,
 * step by step, and prints each step of `got` whose results hold other counts of NaN than
 * the tensors of the same names in `want`: kernel, what it says of itself (the engine of
 * a library, its notes), ops and layer.
 */
#ifndef TESTS_OPS_NAN_TRACE_H
#define TESTS_OPS_NAN_TRACE_H

#include "cases/case_run.h"

void nan_trace(const struct case_run *want, const struct case_run *got);

#endif
