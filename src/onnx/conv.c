/* Convolutions, linear layers, and batch norms, which may be folded into convolutions. */
#include <math.h>

#include "graph/kernel.h"
#include "onnx/convert.h"
#include "ops/batchnorm.h"
#include "ops/conv2d.h"
#include "ops/image.h"
#include "ops/linear.h"

/* Returns the batch norm that is folded into convolution n (its only reader), or NULL.
 * Weights that the graph computes stay as they are. */
static const struct node *folded(const struct convert *c, const struct node *n)
{
    const struct node *r = c->fold_bn ? tensor_only_reader(c->g, n->out[0]) : NULL;
    int weight = n->op == &op_conv2d ? CONV2D_WEIGHT : CONV2D_DATA_GRAD_WEIGHT;

    return r && !n->in[weight]->producer && r->op == &op_batchnorm_inference &&
                   r->in[BATCHNORM_X] == n->out[0]
               ? r
               : NULL;
}

/* Computes an inference batch norm as y = scale x + shift, per channel. */
static void affine(struct convert *c, const struct node *bn, double *scale, double *shift)
{
    const struct batchnorm_attrs *a = bn->attrs;
    const float *weight = convert_weights(c, bn->in[BATCHNORM_WEIGHT]);
    const float *bias = convert_weights(c, bn->in[BATCHNORM_BIAS]);
    const float *mean = convert_weights(c, bn->in[BATCHNORM_INFERENCE_MEAN]);
    const float *var = convert_weights(c, bn->in[BATCHNORM_INFERENCE_VAR]);

    for (int64_t i = 0; i < bn->in[BATCHNORM_WEIGHT]->dim[0]; i++) {
        scale[i] = (double)weight[i] / sqrt((double)var[i] + (double)a->eps);
        shift[i] = (double)bias[i] - (double)mean[i] * scale[i];
    }
}

/*
 * Folds a batch norm into the weights and bias of its convolution, under the names of the
 * convolution; `out`: dim of the weights that counts the output channels.
 */
static void fold(struct convert *c, const struct tensor *w, const struct tensor *b,
                 const struct node *bn, int out, const char *name[2])
{
    int64_t channels = w->dim[out], inner = tensor_len(w) / w->dim[0];
    size_t doubles = (size_t)channels * sizeof(double);
    double *scale = arena_new(c->mem, doubles), *shift = arena_new(c->mem, doubles);
    float *weight = convert_weights(c, w), *bias;

    inner = out == 0 ? inner : inner / channels;
    affine(c, bn, scale, shift);
    for (int64_t i = 0; i < tensor_len(w); i++)
        weight[i] = (float)((double)weight[i] * scale[i / inner % channels]);
    bias =
        b ? convert_weights(c, b) : arena_new(c->mem, (size_t)channels * sizeof(*bias));
    for (int64_t i = 0; i < channels; i++)
        bias[i] = (float)((double)bias[i] * scale[i] + shift[i]);
    name[0] = onnx_tensor(c->x, w->name, ONNX_FLOAT, w->ndim, w->dim, weight);
    name[1] = onnx_tensor(
        c->x, b ? b->name : arena_printf(c->mem, "%s.bias", bn->in[0]->producer->layer),
        ONNX_FLOAT, 1, &channels, bias);
}

/* Gets weights and bias (may be NULL), with the batch norm folded in, if there is one. */
static void parameters(struct convert *c, const struct node *n, const struct tensor *w,
                       const struct tensor *b, int out, const char *name[2])
{
    const struct node *bn = folded(c, n);

    if (bn) {
        fold(c, w, b, bn, out, name);
        return;
    }
    name[0] = convert_value(c, w);
    name[1] = b ? convert_value(c, b) : NULL;
}

void convert_windows(struct convert *c, const struct conv2d_attrs *a)
{
    const int64_t kernel[] = {a->kernel_h, a->kernel_w};
    const int64_t stride[] = {a->stride_h, a->stride_w};
    const int64_t pad[] = {a->pad_h, a->pad_w, a->pad_h + a->extra_h,
                           a->pad_w + a->extra_w};
    const int64_t dilation[] = {a->dilation_h, a->dilation_w};

    onnx_ints(c->x, "kernel_shape", 2, kernel);
    onnx_ints(c->x, "strides", 2, stride);
    onnx_ints(c->x, "pads", 4, pad);
    onnx_ints(c->x, "dilations", 2, dilation);
    onnx_int(c->x, "group", a->groups);
}

const char *convert_conv2d(struct convert *c, const struct node *n)
{
    const char *x = convert_value(c, n->in[CONV2D_X]), *w[2], *y;

    parameters(c, n, n->in[CONV2D_WEIGHT],
               n->nin > CONV2D_BIAS ? n->in[CONV2D_BIAS] : NULL, WEIGHT_O, w);
    y = onnx_node(c->x, "Conv", ONNX_IN(x, w[0], w[1]));
    convert_windows(c, n->attrs);
    return y;
}

/* Returns output_padding: the pixels by which `out` exceeds the natural output size of a
 * transposed convolution. */
static int64_t missing(int64_t out, int64_t in, int stride, int pad, int kernel,
                       int dilation)
{
    return out -
           ((in - 1) * stride - 2 * (int64_t)pad + (int64_t)dilation * (kernel - 1) + 1);
}

const char *convert_conv_transpose2d(struct convert *c, const struct node *n)
{
    const struct conv2d_attrs *a = n->attrs;
    const struct tensor *src = n->in[CONV2D_DATA_GRAD_DY], *dst = n->out[0];
    const char *x = convert_value(c, src), *w[2], *y;
    const int64_t more[] = {missing(dst->dim[IMAGE_H], src->dim[IMAGE_H], a->stride_h,
                                    a->pad_h, a->kernel_h, a->dilation_h),
                            missing(dst->dim[IMAGE_W], src->dim[IMAGE_W], a->stride_w,
                                    a->pad_w, a->kernel_w, a->dilation_w)};

    parameters(c, n, n->in[CONV2D_DATA_GRAD_WEIGHT],
               n->nin > CONV2D_DATA_GRAD_BIAS ? n->in[CONV2D_DATA_GRAD_BIAS] : NULL,
               WEIGHT_I, w);
    y = onnx_node(c->x, "ConvTranspose", ONNX_IN(x, w[0], w[1]));
    convert_windows(c, a);
    onnx_ints(c->x, "output_padding", 2, more);
    return y;
}

/* A batch norm that was folded into its convolution adds no node. */
const char *convert_batchnorm(struct convert *c, const struct node *n)
{
    const struct batchnorm_attrs *a = n->attrs;
    const struct node *conv = n->in[BATCHNORM_X]->producer;
    const char *x = convert_value(c, n->in[BATCHNORM_X]), *y;

    if (conv && (conv->op == &op_conv2d || conv->op == &op_conv2d_data_grad) &&
        folded(c, conv) == n)
        return x;
    y = onnx_node(c->x, "BatchNormalization",
                  ONNX_IN(x, convert_value(c, n->in[BATCHNORM_WEIGHT]),
                          convert_value(c, n->in[BATCHNORM_BIAS]),
                          convert_value(c, n->in[BATCHNORM_INFERENCE_MEAN]),
                          convert_value(c, n->in[BATCHNORM_INFERENCE_VAR])));
    onnx_float(c->x, "epsilon", a->eps);
    return y;
}

const char *convert_dense(struct convert *c, const char *x, const char *w, const char *b,
                          bool matrix)
{
    const char *y;

    if (matrix) {
        y = onnx_node(c->x, "Gemm", ONNX_IN(x, w, b));
        onnx_int(c->x, "transB", 1);
        return y;
    }
    w = convert_transpose(c, w, CONVERT_DIMS(1, 0));
    y = onnx_node(c->x, "MatMul", ONNX_IN(x, w));
    return b ? onnx_node(c->x, "Add", ONNX_IN(y, b)) : y;
}

const char *convert_linear(struct convert *c, const struct node *n)
{
    const struct linear_attrs *a = n->attrs;
    const char *x = convert_value(c, n->in[LINEAR_X]);
    const char *w = convert_value(c, n->in[LINEAR_WEIGHT]);
    const char *b = n->nin > LINEAR_BIAS ? convert_value(c, n->in[LINEAR_BIAS]) : NULL;

    if (a->image)
        x = onnx_node(c->x, "Flatten", ONNX_IN(x));
    return convert_dense(c, x, w, b, a->image || n->in[LINEAR_X]->ndim == 2);
}
