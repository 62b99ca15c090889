/*
 * Values as operands of the graph's nodes: the tensor that a value shows, as an image or as
 * rows, after a copy if its elements are stored in another order. Each returns a valid
 * tensor unless it refuses the node; then it returns NULL.
 */
#ifndef PT2_PLACE_H
#define PT2_PLACE_H

#include "pt2/import.h"

/* x as a tensor of this layout and dims; the same number of elements in the same order.
 * Returns x itself if it has them. */
struct tensor *pt2_view_of(struct pt2_import *c, struct tensor *x, enum layout layout,
                           int ndim, const int64_t *dim);

/* Makes v stored in this order (pt2/value.h) without gaps: copies its elements if it is
 * not. Returns false if that is refused. */
bool pt2_store(struct pt2_import *c, struct pt2_value *v, const int *order);
/* The same in any order: copies only values with gaps or repeated elements. */
bool pt2_dense(struct pt2_import *c, struct pt2_value *v);

/* The value [N,C,H,W] as an image. */
struct tensor *pt2_image(struct pt2_import *c, const struct pt2_value *v);
/* The value [...,C] as rows of C elements. Sets *order to the order of the rows' dims. */
struct tensor *pt2_rows(struct pt2_import *c, const struct pt2_value *v,
                        int order[PT2_DIMS]);
/* The result of a layer on such rows, [...,C]: the dims of v, the last one being t's. */
struct pt2_value pt2_rows_value(const struct pt2_value *v, const int order[PT2_DIMS],
                                struct tensor *t);
/* The value as a plain tensor with its own dims, or as an image if it is stored as one. */
struct tensor *pt2_plain(struct pt2_import *c, const struct pt2_value *v);
/* Returns the layer of a weight, "layer1.0.conv1" of "layer1.0.conv1.weight"; of a computed one,
 * the node's. */
const char *pt2_layer_of(struct pt2_import *c, const struct tensor *w);
/* A parameter or buffer that is read as it is: a vector of `len` elements. */
struct tensor *pt2_vector(struct pt2_import *c, const struct pt2_value *v, int64_t len);

#endif
