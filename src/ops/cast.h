/*
 * cast: the same values in another floating-point type, rounded to nearest even (values
 * too large for fp16 become infinity). Attributes: struct cast_attrs in graph/graph.h.
 */
#ifndef OPS_CAST_H
#define OPS_CAST_H

#include "graph/graph.h"

enum { CAST_X };

struct tensor *cast(struct builder *b, struct tensor *x, enum dtype dtype,
                    const char *layer);

extern const struct op op_cast;

#endif
