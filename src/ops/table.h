/* All ops, in one list ended by NULL, and the two that graph passes need. */
#ifndef OPS_TABLE_H
#define OPS_TABLE_H

#include "graph/graph.h"

extern const struct op *const op_table[];
extern const struct graph_ops graph_ops_default;

#endif
