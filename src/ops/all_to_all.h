/*
 * all_to_all: exchanges the rows of experts that are distributed over the processes of a
 * group, as torch.distributed.all_to_all_single in Tutel. With w processes, process r has
 * experts r * E / w to (r + 1) * E / w - 1.
 *
 *   y = all_to_all(&b, x, group, false, "mlp.send")     x [E, rows, C]
 *       y [E / w, w * rows, C]: for each expert of this process the rows of process 0,
 *       then those of process 1, ...
 *   z = all_to_all(&b, y, group, true, "mlp.return")    the inverse: z [E, rows, C]
 *
 * Each direction is the gradient of the other. Any float type; all processes run the same
 * program.
 */
#ifndef OPS_ALL_TO_ALL_H
#define OPS_ALL_TO_ALL_H

#include "graph/collective.h"
#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct all_to_all_attrs {
    const char *layer;
    const struct collective *group; /* must outlive the program */
    int back;                       /* 1: the inverse */
};

extern const struct op op_all_to_all;

struct tensor *all_to_all(struct builder *b, struct tensor *x,
                          const struct collective *group, bool back, const char *layer);

/* The messages of a node whose output is y. */
struct exchange all_to_all_exchange(const struct all_to_all_attrs *a,
                                    const struct tensor *y);

#ifdef __cplusplus
}
#endif

#endif
