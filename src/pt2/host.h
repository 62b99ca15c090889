/*
 * Constants during an import: tensors in the memory of this process. What depends on no
 * image and no weight is computed here, once (pt2/fold.h); the graph gets the result as a
 * constant or as the positions of a gather. Views share memory as in PyTorch, so writes in
 * place are seen by all of them.
 *
 * Numbers are doubles, rounded to the value's type after each operator.
 */
#ifndef PT2_HOST_H
#define PT2_HOST_H

#include "pt2/import.h"

struct pt2_host {
    int dtype;
    int64_t len;
    double *data;
    int writes; /* in place, so far */
};

/* Returns a value of zeros, row-major. Refuses one that is too large; it then has a single
 * element. */
struct pt2_value pt2_host_new(struct pt2_import *c, int dtype, int ndim,
                              const int64_t *dim);
/* Returns the place of element i of v in row-major order. */
double *pt2_host_at(const struct pt2_value *v, int64_t i);
double pt2_host_round(double x, int dtype);

/* Copies the elements so that they are stored in this order. */
void pt2_host_store(struct pt2_import *c, struct pt2_value *v, const int *order);

/* Returns the value as a tensor of the graph: numbers in fp32, and 1 and 0 for booleans. */
struct pt2_value pt2_host_show(struct pt2_import *c, const struct pt2_value *v);

#endif
