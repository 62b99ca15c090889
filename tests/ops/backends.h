/*
 * Which backends a test runs on: those that TEST_BACKENDS names ("cpu ref", "cuda"), or
 * all that this machine has. Tests of training take the device TEST_DEVICE, or ref.
 */
#ifndef TESTS_OPS_BACKENDS_H
#define TESTS_OPS_BACKENDS_H

#include "graph/backend.h"

bool backend_wanted(const struct backend *backend);
const char *test_device(void);

#endif
