/* For tests of single ops. */
#ifndef TESTS_TRAIN_RUN_LAST_H
#define TESTS_TRAIN_RUN_LAST_H

#include "graph/graph.h"

/* Runs the last node of `g` on the reference, with the arrays that hold its tensors. */
void run_last(struct graph *g, void **in, void **out);

#endif
