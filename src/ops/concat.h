/*
 * concat: concatenates tensors along one dim, in order; slice extracts a part of a dim and
 * is concat's gradient. The gradient of slice is a strided_copy_grad (ops/strided_copy.h).
 *
 *   struct tensor *parts[] = {conv, pool, skip};
 *   x = concat(&b, parts, 3, "aspp.concat")
 *
 * All other dims must be equal. Any number of inputs, of any layout.
 */
#ifndef OPS_CONCAT_H
#define OPS_CONCAT_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct concat_attrs {
    const char *layer;
    int axis; /* logical dim; 0: the channels; never 0 in a node, as the batch stays */
};

struct slice_attrs {
    const char *layer;
    int axis;       /* logical dim, not 0 */
    int first, len; /* of that dim */
};

#define concat(b, in, n, ...)                                                            \
    concat_((b), (in), (n), &(const struct concat_attrs){.layer = __VA_ARGS__})
struct tensor *concat_(struct builder *b, struct tensor *const *in, int n,
                       const struct concat_attrs *a);

/*
 * The memory of t as rows that contain all of dim `axis`: returns the elements between two
 * of its positions; a row has dim[axis] times as many.
 */
int64_t concat_step(const struct tensor *t, int axis);

/*
 * For kernels that read a slice of channels in place: returns the image of which t is a
 * slice of channels, and its first channel there; NULL if t is no such slice.
 */
struct tensor *channel_slice_of(const struct tensor *t, int64_t *channel);

/* True if n concatenates channels of images. */
bool concat_of_channels(const struct node *n);

extern const struct op op_concat, op_slice;

#ifdef __cplusplus
}
#endif

#endif
