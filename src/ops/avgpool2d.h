/*
 * avgpool2d: the mean under each window, over the positions inside the image: padding
 * and, with .ceil_mode, positions beyond the end are not counted (ops/window.h).
 *
 *   x = avgpool2d(&b, x, "layer2.0.downsample.0", .kernel = 2, .ceil_mode = 1)
 */
#ifndef OPS_AVGPOOL2D_H
#define OPS_AVGPOOL2D_H

#include "graph/graph.h"

struct avgpool2d_attrs {
    const char *layer;
    int kernel;
    int stride;     /* 0: kernel; never 0 in a node */
    int padding;    /* at most kernel / 2 */
    int ceil_mode;  /* 1: the last window may extend beyond the end */
    int in_h, in_w; /* set by the builder: H and W of x */
};

enum { AVGPOOL2D_X };
enum { AVGPOOL2D_GRAD_DY }; /* dx [N,C,in_h,in_w] */

#define avgpool2d(b, x, ...)                                                             \
    avgpool2d_((b), (x), &(const struct avgpool2d_attrs){.layer = __VA_ARGS__})
struct tensor *avgpool2d_(struct builder *b, struct tensor *x,
                          const struct avgpool2d_attrs *a);

extern const struct op op_avgpool2d, op_avgpool2d_grad;

#endif
