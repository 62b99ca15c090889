/* How far a result of a row may be from the fp32 reference (tests/ops/test_ops.c). */
#ifndef TESTS_OPS_TOLERANCE_H
#define TESTS_OPS_TOLERANCE_H

#include "cases/cases.h"

/* TEST_TF32=1: only fp32, with multiplications that may round factors to 10 bits. */
bool tolerance_tf32(void);

/*
 * The normalized mean square of the errors, and the largest error as a share of the largest
 * element. tiles: the device multiplies tiles of AMX; forward: an output of the row, not a
 * gradient or a result of an update.
 */
double tolerance_nmse(const struct op_case *row, enum dtype d, bool tiles, bool forward);
double tolerance_max(const struct op_case *row, enum dtype d, bool forward);

#endif
