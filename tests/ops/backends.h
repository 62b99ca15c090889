/*
 * The backends of a test: those in TEST_BACKENDS ("cpu ref", "cuda"), or all that this
 * machine has. Tests of training run on TEST_DEVICE, or on ref.
 */
#ifndef TESTS_OPS_BACKENDS_H
#define TESTS_OPS_BACKENDS_H

#include "cases/cases.h"
#include "graph/backend.h"

bool backend_wanted(const struct backend *backend);
const char *test_device(void);

/* True if TEST_ROWS (a pattern such as "relu*") matches the row's name or is not set, the
 * row comes after the one that TEST_AFTER names, and with TEST_NO_SLOW is not marked as
 * slow. */
bool row_wanted(const struct op_case *row);
/* Returns the row with this name; fails if there is none. */
const struct op_case *row_named(const char *name);
/* Fails unless `enough`: the test compared too little. TEST_ROWS and TEST_AFTER allow
 * that. */
void assert_enough(bool enough);

#endif
