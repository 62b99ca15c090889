/*
 * conv2d: cross-correlation of an image with weights O x I/groups x kH x kW, [+ bias].
 *
 *   x = conv2d(&b, x, "conv1", .out = 64, .kernel = 7, .stride = 2, .padding = 3)
 *
 * creates the parameters "conv1.weight" and, with .bias = 1, "conv1.bias". If the two
 * directions differ, set both: .kernel_h = 3, .kernel_w = 1, .pad_h = 1.
 *
 * With .same = 1, the output has ceil(in / stride) rows and columns, as TensorFlow's "SAME"
 * (timm's tf_ models): where the padding is odd, it is wider at the end.
 *
 * Kernels read only the *_h and *_w members: the builder resolves the short ones into
 * them (kernel -> kernel_h and kernel_w where those are 0; strides, dilations, and groups
 * of 0 become 1) and fills in in_h and in_w.
 *
 * Weights are initialized as He normal with fan-out, biases as in PyTorch (ops/init.h).
 */
#ifndef OPS_CONV2D_H
#define OPS_CONV2D_H

#include "graph/graph.h"
#include "ops/init.h"

struct conv2d_attrs {
    const char *layer;
    int out; /* channels */
    int kernel, stride, padding, dilation;
    int kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
    int same;             /* 1: padding follows from sizes; the others are 0 */
    int extra_h, extra_w; /* rows below and columns right of pad_h and pad_w */
    int groups;
    int bias;            /* 1: with bias */
    int init, bias_init; /* enum init_rule */
    int in_h, in_w;      /* set by the builder: H and W of x */
};

/* y [N,O,Ho,Wo]. The bias is fp32 even if x and weights are 16-bit. */
enum { CONV2D_X, CONV2D_WEIGHT, CONV2D_BIAS };
/*
 * dx [N,I,in_h,in_w]. With a bias [I] (fp32), and with gradients, it is the forward op of
 * ops/conv_transpose2d.h.
 */
enum { CONV2D_DATA_GRAD_WEIGHT, CONV2D_DATA_GRAD_DY, CONV2D_DATA_GRAD_BIAS };
/* dw, shaped like the weights, fp32. The bias gradient is op_bias_grad. */
enum { CONV2D_WEIGHT_GRAD_X, CONV2D_WEIGHT_GRAD_DY };

#define conv2d(b, x, ...)                                                                \
    conv2d_((b), (x), &(const struct conv2d_attrs){.layer = __VA_ARGS__})
struct tensor *conv2d_(struct builder *b, struct tensor *x, const struct conv2d_attrs *a);

/* The same with weights that are a tensor, shaped like the parameter; .out, the kernel's
 * size, and .init are not read. */
#define conv2d_with(b, x, w, ...)                                                        \
    conv2d_with_((b), (x), (w), &(const struct conv2d_attrs){.layer = __VA_ARGS__})
struct tensor *conv2d_with_(struct builder *b, struct tensor *x, struct tensor *w,
                            const struct conv2d_attrs *a);

extern const struct op op_conv2d, op_conv2d_data_grad, op_conv2d_weight_grad;

#endif
