/*
 * concat: concatenates images in the channel dim, in order; channel_slice extracts a part
 * and is concat's gradient.
 *
 *   x = concat(&b, conv, pool, "initial_block.concat")
 *
 * Batch, height, and width must be equal.
 */
#ifndef OPS_CONCAT_H
#define OPS_CONCAT_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct channel_slice_attrs {
    const char *layer;
    int from, len; /* channels */
};

struct tensor *concat(struct builder *b, struct tensor *x, struct tensor *y,
                      const char *layer);

/*
 * For kernels that read a slice of channels in place: returns the tensor of which t is a
 * channel_slice, and its first channel there; NULL if t is no slice.
 */
struct tensor *channel_slice_of(const struct tensor *t, int64_t *from);

extern const struct op op_concat, op_channel_slice;

#ifdef __cplusplus
}
#endif

#endif
