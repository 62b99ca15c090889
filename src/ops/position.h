/*
 * add_position: adds the same values to every sample, y[b] = x[b] + p, such as the
 * position embedding of tokens. p (fp32) is 1 x ... x C with the elements of one sample
 * of x; its other dims may be joined, [1,H W,C] for [B,H,W,C]. dp is batch_sum(dy).
 *
 * batch_sum: the sum over dim 0, which becomes 1: plain [B,...,C] to [1,...,C], fp32.
 */
#ifndef OPS_POSITION_H
#define OPS_POSITION_H

#include "graph/graph.h"

struct batch_sum_attrs {
    const char *layer;
    int joined; /* 1: [1,N,C] for [B,H,W,C] */
};

enum { ADD_POSITION_X, ADD_POSITION_P };
enum { BATCH_SUM_X };

struct tensor *add_position(struct builder *b, struct tensor *x, struct tensor *p,
                            const char *layer);
struct tensor *batch_sum(struct builder *b, struct tensor *x, const char *layer);

extern const struct op op_add_position, op_batch_sum;

#endif
