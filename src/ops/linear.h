/*
 * linear: y = x W^T [+ bias] with weights O x F, on the last dim of a plain tensor or on
 * the channels of an image [N,F,1,1], which gives plain [N,O].
 *
 *   x = linear(&b, x, "fc", .out = 1000, .bias = 1)
 *
 * creates "fc.weight" and "fc.bias", both with PyTorch's default initialization
 * (ops/init.h). Kaiming's rules use fan_in here, the default mode of torch.nn.init;
 * fan_out is for convolutions. linear_bias adds a computed vector [O] (SwinV2's q_bias
 * and v_bias, joined) and creates only "fc.weight".
 */
#ifndef OPS_LINEAR_H
#define OPS_LINEAR_H

#include "graph/graph.h"
#include "ops/init.h"

struct linear_attrs {
    const char *layer;
    int out;
    int bias;            /* 1: with bias */
    int init, bias_init; /* enum init_rule */
    int image;           /* set by the builder: x is an image [N,F,1,1] */
};

/* y [...,O]. The bias is fp32 even if x and weights are 16-bit. */
enum { LINEAR_X, LINEAR_WEIGHT, LINEAR_BIAS };
/* dx [...,F], or [N,F,1,1] */
enum { LINEAR_DATA_GRAD_WEIGHT, LINEAR_DATA_GRAD_DY };
/* dw [O,F], fp32. The bias gradient is op_bias_grad. */
enum { LINEAR_WEIGHT_GRAD_X, LINEAR_WEIGHT_GRAD_DY };

#define linear(b, x, ...)                                                                \
    linear_((b), (x), &(const struct linear_attrs){.layer = __VA_ARGS__})
#define linear_bias(b, x, vector, ...)                                                   \
    linear_bias_((b), (x), (vector), &(const struct linear_attrs){.layer = __VA_ARGS__})
struct tensor *linear_(struct builder *b, struct tensor *x, const struct linear_attrs *a);
struct tensor *linear_bias_(struct builder *b, struct tensor *x, struct tensor *bias,
                            const struct linear_attrs *a);

extern const struct op op_linear, op_linear_data_grad, op_linear_weight_grad;

#endif
