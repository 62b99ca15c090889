/*
 * NVIDIA's cuDNN asked about an H200 that is not there: programs that are compiled for
 * one and never run.
 */
#ifndef TESTS_CUDA_ASK_CUDNN_H
#define TESTS_CUDA_ASK_CUDNN_H

#include "graph/program.h"

/* An H200, for backend_cuda.close(); skips the test, with a line, if there is
 * no cuDNN. */
struct device *ask_open(void);

/* With our kernels of convolutions alone, and why they declined what they did. */
struct program *ask_compile(struct graph *g, struct device *dev);

struct asked {
    int convs, alone; /* alone: nothing else in its region */
    size_t workspace; /* the largest */
};

/* Counts the convolutions, all of which cuDNN must have taken; prints each plan once. */
struct asked ask_convs(const struct program *p, const char *what);

/* Is there a driver, or a stub of one? cuDNN offers engines that it compiles then. */
bool ask_driver(void);

#endif
