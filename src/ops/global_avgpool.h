/*
 * global_avgpool: the mean over H and W: image [N,C,H,W] to image [N,C,1,1].
 */
#ifndef OPS_GLOBAL_AVGPOOL_H
#define OPS_GLOBAL_AVGPOOL_H

#include "graph/graph.h"

struct global_avgpool_attrs {
    const char *layer;
    int in_h, in_w; /* set by the builder: H and W of x */
};

enum { GLOBAL_AVGPOOL_X };
enum { GLOBAL_AVGPOOL_GRAD_DY }; /* dx [N,C,in_h,in_w] */

struct tensor *global_avgpool(struct builder *b, struct tensor *x, const char *layer);

extern const struct op op_global_avgpool, op_global_avgpool_grad;

#endif
