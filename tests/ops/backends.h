/*
 * Which backends a test runs on: those that TEST_BACKENDS names ("cpu ref", "cuda"), or
 * all that this machine has. Tests of training run on TEST_DEVICE, or on ref.
 */
#ifndef TESTS_OPS_BACKENDS_H
#define TESTS_OPS_BACKENDS_H

#include "cases/cases.h"
#include "graph/backend.h"

bool backend_wanted(const struct backend *backend);
const char *test_device(void);

/* Does TEST_ROWS (a pattern such as "relu*") match the row's name? Without it: all; and
 * those alone that come after the row that TEST_AFTER names, and with TEST_NO_SLOW those
 * alone that are not marked as slow. */
bool row_wanted(const struct op_case *row);
/* Fails unless `enough`: the test compared too little. These two allow that. */
void assert_enough(bool enough);

#endif
