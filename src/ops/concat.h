/*
 * concat: images beside each other in the channel dim, in order; channel_slice takes a
 * part out again and is concat's gradient.
 *
 *   x = concat(&b, conv, pool, "initial_block.concat")
 *
 * Batch, height and width must be equal.
 */
#ifndef OPS_CONCAT_H
#define OPS_CONCAT_H

#include "graph/graph.h"

struct channel_slice_attrs {
    const char *layer;
    int from, len; /* channels */
};

struct tensor *concat(struct builder *b, struct tensor *x, struct tensor *y,
                      const char *layer);

extern const struct op op_concat, op_channel_slice;

#endif
