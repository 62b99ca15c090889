/*
 * view: the same elements in the same order with other dims.
 *
 *   x = view_tokens(&b, x, "norm")                  image [N,C,H,W] -> plain [N,H,W,C]
 *   x = view_image(&b, x, "norm")                   plain [N,H,W,C] -> image [N,C,H,W]
 *   x = view_plain(&b, x, "flatten", 3, dim)        plain -> plain, same number of elements
 *
 * Images are stored channels last, so nothing moves: the result shares the bytes of x,
 * and no kernel runs (graph/views.c lists the exceptions, which copy). The result has the
 * type of x; the gradient is a view of dy. A view that changes nothing returns x.
 */
#ifndef OPS_VIEW_H
#define OPS_VIEW_H

#include "graph/graph.h"

struct view_attrs {
    const char *layer;
    int layout; /* enum layout of the result */
    int ndim;
    int64_t dim[TENSOR_DIMS];
};

enum { VIEW_X };

struct tensor *view_tokens(struct builder *b, struct tensor *x, const char *layer);
struct tensor *view_image(struct builder *b, struct tensor *x, const char *layer);
struct tensor *view_plain(struct builder *b, struct tensor *x, const char *layer,
                          int ndim, const int64_t *dim);
/* x with the dims and the layout of `like`, which has as many elements. */
struct tensor *view_like(struct builder *b, struct tensor *x, const struct tensor *like,
                         const char *layer);

extern const struct op op_view;

#endif
