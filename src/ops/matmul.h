/*
 * matmul: products of matrices of a batch with two dims, each operand in an order of its
 * own:
 *
 *   y[p, q, i, j] = alpha sum over l of a[p, q, i, l] b[p, q, l, j]
 *
 * The dims of the batch, of the rows i, the columns j, and the sum l are attributes; so are
 * the strides of a, b, and y in elements of their memory. Every operand is read whole, and
 * every element of y is written once: strides only say in which order elements are stored,
 * so that heads of attention need no copy.
 *
 *   struct matmul_attrs m = {.batch = {2, 3}, .rows = 5, .columns = 7, .sums = 4};
 *   matmul_order(m.a, (int64_t[]){2, 3, 5, 4});       in this order, without gaps
 *   y = matmul(&b, x, w, &m);
 *
 * The result has the layout and dims of the attributes; without them it is plain
 * [p, q, i, j] if y is stored so. Both gradients are the same op.
 */
#ifndef OPS_MATMUL_H
#define OPS_MATMUL_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Strides of the two dims of the batch, then of an operand's rows and columns. */
enum { MATMUL_BATCH0, MATMUL_BATCH1, MATMUL_ROW, MATMUL_COLUMN, MATMUL_STRIDES };

struct matmul_attrs {
    const char *layer;
    float alpha; /* 0: 1; never 0 in a node */
    int64_t batch[2], rows, columns, sums;
    int64_t a[MATMUL_STRIDES], b[MATMUL_STRIDES], y[MATMUL_STRIDES];
    int layout, ndim; /* of the result; ndim 0: see above */
    int64_t dim[TENSOR_DIMS];
};

enum { MATMUL_A, MATMUL_B };

struct tensor *matmul(struct builder *b, struct tensor *x, struct tensor *y,
                      const struct matmul_attrs *a);

/* Sets strides of dims that are stored in this order without gaps. */
void matmul_order(int64_t stride[MATMUL_STRIDES], const int64_t dim[MATMUL_STRIDES]);

extern const struct op op_matmul;

#ifdef __cplusplus
}
#endif

#endif
