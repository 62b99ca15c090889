/*
 * Which backends a test runs on: those that TEST_BACKENDS names ("cpu ref", "cuda"), or
 * all that this machine has. Tests of training take the device TEST_DEVICE, or ref.
 */
#ifndef TESTS_OPS_BACKENDS_H
#define TESTS_OPS_BACKENDS_H

#include "cases/cases.h"
#include "graph/backend.h"

bool backend_wanted(const struct backend *backend);
const char *test_device(void);

/* The rows of the op table that TEST_ROWS ("relu*", a pattern) names, or all. */
bool row_wanted(const struct op_case *row);
/* So many were tested that something was, unless TEST_ROWS asked for a few. */
void assert_enough(bool enough);

#endif
