/*
 * pad_end: rows and columns of zeros after those of an image; its gradient removes them.
 * For backends whose convolutions have the same padding on both sides (ops/conv2d.h).
 *
 *   x = pad_end(&b, x, "conv1", .rows = 1, .columns = 1)
 */
#ifndef OPS_PAD_END_H
#define OPS_PAD_END_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pad_end_attrs {
    const char *layer;
    int rows, columns; /* that are added, or, by the gradient, removed */
};

#define pad_end(b, x, ...)                                                               \
    pad_end_((b), (x), &(const struct pad_end_attrs){.layer = __VA_ARGS__})
struct tensor *pad_end_(struct builder *b, struct tensor *x,
                        const struct pad_end_attrs *a);

extern const struct op op_pad_end, op_pad_end_grad;

/*
 * Replaces padding that is wider at the end of a convolution and of its gradients by these
 * ops, except of nodes for which keeps() is true.
 */
void pad_end_lower(struct graph *g, bool (*keeps)(const struct node *n));

#ifdef __cplusplus
}
#endif

#endif
