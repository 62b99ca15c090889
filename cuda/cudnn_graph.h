/*
 * An operation graph for cuDNN as plain numbers. It is converted to descriptors only to
 * ask cuDNN for engines; its text is the key of stored plans, in memory and on disk.
 *
 *   struct cudnn_graph g = {0};
 *   int x = cudnn_graph_tensor(&g, t, DTYPE_F16, true), w = ..., y = ...;
 *   cudnn_graph_conv(&g, CUDNN_CONV, &geometry, x, w, y);
 *   cudnn_graph_pointwise(&g, CUDNN_RELU, y, -1, z);
 *
 * Tensor i has the unique id i + 1. Tensors that are not real only exist inside the fused
 * kernel. Arithmetic is fp32; int32 for a convolution of bytes. Bytes (DTYPE_U8) are
 * int8: cuDNN has no engine for uint8.
 */
#ifndef CUDA_CUDNN_GRAPH_H
#define CUDA_CUDNN_GRAPH_H

#include "base/strbuf.h"
#include "graph/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDNN_TENSORS = 40, CUDNN_OPS = 24 };

enum cudnn_op_kind {
    CUDNN_CONV,        /* in: x, w; out: y */
    CUDNN_DATA_GRAD,   /* in: dy, w; out: dx */
    CUDNN_WEIGHT_GRAD, /* in: x, dy; out: dw */
    CUDNN_ADD,         /* in: a, b; b may be a value per channel */
    CUDNN_MUL,
    CUDNN_RELU,      /* in: x; NaN stays NaN */
    CUDNN_RELU_GRAD, /* in: dy; x, y, or booleans */
    CUDNN_IDENTITY,  /* in: x; converts the type */
    CUDNN_NOT_EQUAL, /* in: a, b; boolean */

    /* for attention (cuda/cudnn_attention.h), with other dims */
    CUDNN_SUB,
    CUDNN_DIV,
    CUDNN_EXP,
    CUDNN_LOG,
    CUDNN_INDEX,  /* in: x; index along dimension op.axis, int32 */
    CUDNN_LESS,   /* in: a, b; boolean */
    CUDNN_AND,    /* in: booleans */
    CUDNN_SELECT, /* in: a if more[0] is true, else b */
    CUDNN_MAX,    /* in: x; maximum over the dimensions that are 1 in the result */
    CUDNN_SUM,
    CUDNN_MATMUL,  /* in: a, b; more: lengths of rows, columns, products; or -1 */
    CUDNN_RESHAPE, /* in: x; same memory, other dimensions and strides */

    CUDNN_STATS /* in: x; out, more[0]: sums of x and of x^2 per channel, fp32 */
};

struct cudnn_geometry {
    int64_t pad[2], stride[2], dilation[2]; /* rows, columns */
};

struct cudnn_tensor {
    enum dtype dtype;
    bool real;
    bool boolean; /* instead of dtype; in memory, eight in a byte */
    /* one number on the host, the same for all runs: value; counts as real */
    bool by_value;
    bool filled; /* int32 in memory, all equal to `value` */
    float value;
    int64_t dim[4], stride[4]; /* N, C, H, W */
};

struct cudnn_op {
    enum cudnn_op_kind kind;
    int in[2], out; /* tensors; -1 if absent */
    struct cudnn_geometry conv;
    float limit;       /* CUDNN_RELU: upper bound; 0: none */
    int axis, more[3]; /* for the last kinds described above */
};

struct cudnn_graph {
    struct cudnn_tensor tensor[CUDNN_TENSORS];
    struct cudnn_op op[CUDNN_OPS];
    int ntensor, nop;
};

/* Adds an image, weights, or (a plain vector) a value per channel, as `dtype`. */
int cudnn_graph_tensor(struct cudnn_graph *g, const struct tensor *t, enum dtype dtype,
                       bool real);
/* Adds a real tensor with these dims, N C H W, channels last. */
int cudnn_graph_stored(struct cudnn_graph *g, const int64_t dim[4], enum dtype dtype);
/* Sets the channels of tensor i as stored in memory. */
void cudnn_graph_channels(struct cudnn_graph *g, int i, int64_t channels);
/* Sets the number of filters of weights i. */
void cudnn_graph_filters(struct cudnn_graph *g, int i, int64_t filters);
/* of tensor i, including gaps */
size_t cudnn_graph_bytes(const struct cudnn_graph *g, int i);

/* Add any tensor or operation; return its index, or the operation to fill in. */
int cudnn_graph_add(struct cudnn_graph *g, const struct cudnn_tensor *t);
struct cudnn_op *cudnn_graph_op(struct cudnn_graph *g, enum cudnn_op_kind kind, int a,
                                int b, int out);

void cudnn_graph_conv(struct cudnn_graph *g, enum cudnn_op_kind kind,
                      const struct cudnn_geometry *geometry, int a, int b, int out);
/* Returns the output, a new virtual tensor shaped as `a`. b: -1 if absent. */
int cudnn_graph_pointwise(struct cudnn_graph *g, enum cudnn_op_kind kind, int a, int b,
                          float limit);

/*
 * A dilated convolution along one axis, with stride 1, becomes an undilated one on the
 * same memory, for which cuDNN has its fast engines whatever the dilation d:
 *
 *   k x 1:  N x C x H x W as N x C x H/d x dW
 *   1 x k:  N x C x H x W as NH x C x W/d x d, and then k x 1
 *
 * Call it when the graph is complete. The graph is unchanged unless d divides the axis of
 * every tensor, and the padding.
 */
void cudnn_graph_undilate(struct cudnn_graph *g);

/* Writes a line per tensor and per op; equal texts have equal plans. */
void cudnn_graph_text(const struct cudnn_graph *g, struct strbuf *s);

#ifdef __cplusplus
}
#endif

#endif
