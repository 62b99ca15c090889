/*
 * Finds where a row loses or spreads a NaN: runs both programs of the row again, step by
 * step, and prints each step of `got` whose results have a different number of NaNs than
 * the tensors of the same names in `want`: kernel, its description (the engine of a
 * library, its notes), ops, and layer.
 */
#ifndef TESTS_OPS_NAN_TRACE_H
#define TESTS_OPS_NAN_TRACE_H

#include "cases/case_run.h"

void nan_trace(const struct case_run *want, const struct case_run *got);

#endif
