/*
 * all_reduce: the mean of a piece of state over all processes of the run, in place.
 *
 *   state  x (fp32, [n])
 *
 * As torch.distributed.all_reduce with ReduceOp.AVG. All processes run the same program,
 * so all of them come here; each gets the same bits.
 */
#ifndef OPS_ALL_REDUCE_H
#define OPS_ALL_REDUCE_H

#include "graph/collective.h"
#include "graph/graph.h"

struct all_reduce_attrs {
    const char *layer;
    const struct collective *group; /* must outlive the program */
};

extern const struct op op_all_reduce;

void all_reduce(struct builder *b, const struct collective *group, struct tensor *x);

#endif
