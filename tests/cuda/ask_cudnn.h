/*
 * Asks NVIDIA's cuDNN about an H200 that is not present: programs are compiled for one
 * and never run.
 */
#ifndef TESTS_CUDA_ASK_CUDNN_H
#define TESTS_CUDA_ASK_CUDNN_H

#include "graph/program.h"

/* Returns an H200, for backend_cuda.close(); skips the test, with a message, without
 * cuDNN. */
struct device *ask_open(void);

/* Compiles with only our convolution kernels, and with their reasons for declining. */
struct program *ask_compile(struct graph *g, struct device *dev);

struct asked {
    int convs, alone; /* alone: nothing else in the region */
    int summed;       /* with the sums for a batch norm */
    size_t workspace; /* largest workspace */
};

/* Counts the convolutions, all of which cuDNN must have claimed; prints each plan
 * once. */
struct asked ask_convs(const struct program *p, const char *what);

/* True if there is a driver or a stub of one: cuDNN then offers run-time compiled
 * engines. */
bool ask_driver(void);

#endif
