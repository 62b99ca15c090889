/*
 * avgpool2d: the mean under each window, over the positions inside the image: padding
 * and, with .ceil_mode, positions beyond the end are not counted. With .count_include_pad,
 * PyTorch's default, padding is.
 *
 *   x = avgpool2d(&b, x, "layer2.0.downsample.0", .kernel = 2, .ceil_mode = 1)
 *   x = avgpool2d(&b, x, "ppm.0", .out_h = 6, .out_w = 6)      adaptive
 *
 * ops/pool2d.h describes the attributes.
 */
#ifndef OPS_AVGPOOL2D_H
#define OPS_AVGPOOL2D_H

#include "ops/pool2d.h"

enum { AVGPOOL2D_X };
enum { AVGPOOL2D_GRAD_DY }; /* dx [N,C,in_h,in_w] */

#define avgpool2d(b, x, ...)                                                             \
    avgpool2d_((b), (x), &(const struct pool2d_attrs){.layer = __VA_ARGS__})
struct tensor *avgpool2d_(struct builder *b, struct tensor *x,
                          const struct pool2d_attrs *a);

extern const struct op op_avgpool2d, op_avgpool2d_grad;

#endif
