/*
 * maxpool2d: the maximum under each window; padding is ignored; a NaN wins.
 *
 * The gradient finds the maximum again from x: the first of equal values in scan order
 * (rows, then columns), the last NaN, as in PyTorch.
 *
 *   x = maxpool2d(&b, x, "maxpool", .kernel = 3, .stride = 2, .padding = 1)
 *   x = maxpool2d(&b, x, "pool", .kernel_h = 3, .kernel_w = 2, .ceil_mode = 1)
 *   x = maxpool2d(&b, x, "pool", .out_h = 7, .out_w = 7)      adaptive
 *
 * ops/pool2d.h describes the attributes.
 */
#ifndef OPS_MAXPOOL2D_H
#define OPS_MAXPOOL2D_H

#include "ops/pool2d.h"

enum { MAXPOOL2D_X };
enum { MAXPOOL2D_GRAD_X, MAXPOOL2D_GRAD_DY };

#define maxpool2d(b, x, ...)                                                             \
    maxpool2d_((b), (x), &(const struct pool2d_attrs){.layer = __VA_ARGS__})
struct tensor *maxpool2d_(struct builder *b, struct tensor *x,
                          const struct pool2d_attrs *a);

extern const struct op op_maxpool2d, op_maxpool2d_grad;

#endif
