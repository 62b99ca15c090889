/*
 * conv_transpose2d: the transposed convolution, PyTorch's ConvTranspose2d. It is the data
 * gradient of the conv2d with the same weights from its output to its input, so its node
 * is op_conv2d_data_grad (ops/conv2d.h), here with a bias.
 *
 *   x = conv_transpose2d(&b, x, "up.conv", .out = 64, .kernel = 3, .stride = 2,
 *                       .padding = 1, .output_padding = 1, .bias = 1)
 *
 * x [N,I,H,W] -> [N,O,Ho,Wo], Ho = (H - 1) stride - 2 padding + kernel + output_padding.
 * "up.conv.weight" is I x O x kH x kW as in PyTorch, "up.conv.bias" is [O], fp32. The
 * fan-in of its initialization is O kH kW: PyTorch uses the second dim.
 */
#ifndef OPS_CONV_TRANSPOSE2D_H
#define OPS_CONV_TRANSPOSE2D_H

#include "graph/graph.h"
#include "ops/init.h"

struct conv_transpose2d_attrs {
    const char *layer;
    int out; /* channels */
    int kernel, stride, padding, output_padding;
    int bias;            /* 1: with bias */
    int init, bias_init; /* enum init_rule; default: PyTorch's */
};

#define conv_transpose2d(b, x, ...)                                                      \
    conv_transpose2d_((b), (x),                                                          \
                      &(const struct conv_transpose2d_attrs){.layer = __VA_ARGS__})
struct tensor *conv_transpose2d_(struct builder *b, struct tensor *x,
                                 const struct conv_transpose2d_attrs *a);

#endif
