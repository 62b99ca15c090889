/* Which elements an operator picks by constant indices. */
#ifndef PT2_POSITIONS_H
#define PT2_POSITIONS_H

#include "pt2/host.h"

/* Elements of x as [outer, all, inner] in its logical order; the result is
 * [outer, n, inner], seen as `dim`. */
struct pt2_positions {
    int64_t outer, extent, inner, n;
    int32_t *index; /* n positions below `extent`, or -1: 0 */
    int ndim;
    int64_t dim[PT2_DIMS];
};

/* Starts positions along the dims [first, first + count) of x. The index is not set. */
struct pt2_positions pt2_positions_along(struct pt2_import *c, const struct pt2_value *x,
                                         int first, int count, int64_t n);
/* Reads the indices of the current node: of index, index_select, or embedding. Returns
 * false if they are refused. */
bool pt2_positions(struct pt2_import *c, const struct pt2_value *x,
                   struct pt2_positions *p);

#endif
