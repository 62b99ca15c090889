/*
 * all_reduce: averages a range of state over all processes of the run, in place.
 *
 *   state  x (fp32, [n])
 *
 * As torch.distributed.all_reduce with ReduceOp.AVG. All processes run the same program,
 * so all of them reach this node; each gets the same bits.
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

/*
 * all_gather: each process has computed a part of a range of state and receives the
 * others' parts, in place.
 *
 *   state  x (fp32, [begin[world]]), of which process r has x[begin[r]] to x[begin[r + 1]]
 */
struct all_gather_attrs {
    const char *layer;
    const struct collective *group; /* must outlive the program, like begin */
    const int64_t *begin;           /* world + 1, ascending from 0 */
};

extern const struct op op_all_gather;

void all_gather(struct builder *b, const struct collective *group, const int64_t *begin,
                struct tensor *x);

#endif
