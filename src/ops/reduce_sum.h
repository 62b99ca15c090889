/*
 * reduce_sum: the sum over the dims in which a tensor was broadcast (ops/expr.h), which is
 * the gradient of broadcasting.
 *
 *   y = reduce_sum(&b, x, like, "layer")     y has the shape of `like`: each dim as in x or
 *                                            1, or a plain vector of the channels
 *
 * Sums are fp32 of fp32 parts, in an order that depends only on the shapes; y is fp32.
 */
#ifndef OPS_REDUCE_SUM_H
#define OPS_REDUCE_SUM_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct reduce_sum_attrs {
    const char *layer;
    int keep;   /* bit d: dim d of x is kept */
    int vector; /* 1: the result is a vector of the channels */
};

struct tensor *reduce_sum(struct builder *b, struct tensor *x, const struct tensor *like,
                          const char *layer);

/*
 * x in the order in which it is stored, as dims that are alternately kept and summed,
 * outermost first; neighbors of one kind are merged.
 */
struct reduce_loops {
    int n;
    int64_t len[TENSOR_DIMS];
    bool kept[TENSOR_DIMS];
};
void reduce_loops(const struct node *n, struct reduce_loops *loops);

extern const struct op op_reduce_sum;

#ifdef __cplusplus
}
#endif

#endif
