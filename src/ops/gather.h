/*
 * gather: picks positions of a dim by a constant list. x is [outer, all, inner] as it is
 * stored; y is plain [outer, n, inner] with
 *
 *   y[o, i, :] = x[o, index[i], :]          0 where index[i] is -1
 *
 *   y = gather(&b, x, "attn.bias", .outer = 1, .all = 169, .inner = 3, .n = 2401,
 *              .index = index)
 *
 * The list must live as long as the graph. A position may be read any number of times: the
 * gradient sums all of them, in order. As a forward op, the gradient writes positions, and
 * sums those that are written several times.
 */
#ifndef OPS_GATHER_H
#define OPS_GATHER_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gather_attrs {
    const char *layer;
    int64_t outer, extent, inner, n;
    const int32_t *index;
    int layout, ndim; /* of x, which the gradient restores; set by the builder */
    int64_t dim[TENSOR_DIMS];
};

enum { GATHER_X };
enum { GATHER_GRAD_DY };

#define gather(b, x, ...)                                                                \
    gather_((b), (x), &(const struct gather_attrs){.layer = __VA_ARGS__})
struct tensor *gather_(struct builder *b, struct tensor *x, const struct gather_attrs *a);

/* Where each position is read: those i with index[i] = r are
 * item[first[r]], ..., item[first[r + 1] - 1], ascending. */
struct gather_lists {
    int32_t *first, *item; /* all + 1 and n numbers */
};
struct gather_lists gather_lists(const struct gather_attrs *a);
void gather_lists_release(struct gather_lists *l);

extern const struct op op_gather, op_gather_grad;

#ifdef __cplusplus
}
#endif

#endif
