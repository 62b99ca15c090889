/*
 * Runs operation graphs on the emulated cuDNN; fails the test on errors.
 */
#ifndef EMULATOR_LIBRARIES_RUN_GRAPH_H
#define EMULATOR_LIBRARIES_RUN_GRAPH_H

#include "tests/emulator/libraries/graph_api.h"

/* The emulated library and its handle, while cmocka's group of tests runs. */
extern struct api run_api;
int run_setup(void **state);
int run_teardown(void **state);
cudnnHandle_t run_handle(void);

/* Returns 8192 bytes, aligned to 64. */
void *run_workspace(void);

/* Runs the engine's plan for the operations once on n tensors. */
void run_graph(int nop, void *const *ops, int64_t engine, int n, const int64_t *uids,
               void *const *pointers);

float *run_floats(int64_t n);                      /* zeros, aligned to 64 bytes */
void run_fill(float *v, int64_t n, unsigned seed); /* integers from -3 to 3 */
void run_compare(const char *what, const float *got, const float *want, int64_t n,
                 float tolerance);

#endif
