/* Converts an operation graph to cuDNN's descriptors; see CUDNN_ATTR_* in cudnn_graph.h. */
#include "base/error.h"
#include "cuda/cudnn_engine.h"

static cudnnDataType_t data_type(enum dtype d)
{
    switch (d) {
    case DTYPE_F32:
        return CUDNN_DATA_FLOAT;
    case DTYPE_F16:
        return CUDNN_DATA_HALF;
    case DTYPE_BF16:
        return CUDNN_DATA_BFLOAT16;
    case DTYPE_I32:
        return CUDNN_DATA_INT32;
    case DTYPE_U8:
        return CUDNN_DATA_INT8;
    }
    BUG("%s in an operation graph", dtype_name(d));
}

static void set_type(struct cudnn_pool *p, cudnnBackendDescriptor_t d,
                     cudnnBackendAttributeName_t name, enum dtype type)
{
    cudnnDataType_t t = data_type(type);

    cudnn_set(p, d, name, CUDNN_TYPE_DATA_TYPE, 1, &t);
}

/* Alignment in bytes: tensors start at multiples of 32, and parts of a tensor at
 * multiples of 16; a number on the host has the alignment of a float. */
enum { ALIGNMENT = 16, NUMBER = 4 };

static cudnnBackendDescriptor_t build_tensor(struct cudnn_pool *p,
                                             const struct cudnn_tensor *t, int64_t uid)
{
    cudnnBackendDescriptor_t d = cudnn_new(p, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    bool is_virtual = !t->real;
    cudnnDataType_t type = t->boolean ? CUDNN_DATA_BOOLEAN : data_type(t->dtype);

    cudnn_set(p, d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    cudnn_set(p, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, t->dim);
    cudnn_set(p, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, t->stride);
    cudnn_set_int(p, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, uid);
    cudnn_set_int(p, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT,
                  t->by_value ? NUMBER : ALIGNMENT);
    cudnn_set(p, d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
    if (t->by_value)
        cudnn_set(p, d, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1,
                  &t->by_value);
    (void)cudnn_finalize(p, d, "tensor");
    return d;
}

static cudnnBackendDescriptor_t
build_geometry(struct cudnn_pool *p, const struct cudnn_geometry *g, enum dtype sums)
{
    cudnnBackendDescriptor_t d = cudnn_new(p, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;

    cudnn_set_int(p, d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 2);
    set_type(p, d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, sums);
    cudnn_set(p, d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1,
              &mode);
    cudnn_set(p, d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, g->pad);
    cudnn_set(p, d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, g->pad);
    cudnn_set(p, d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2,
              g->stride);
    cudnn_set(p, d, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, g->dilation);
    (void)cudnn_finalize(p, d, "convolution");
    return d;
}

/* cuDNN's attribute names for a convolution and its gradients. */
static const struct conv_names {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t geometry, in[2], out, alpha, beta;
} conv_names[] = {
    [CUDNN_CONV] =
        {
            CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
            {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
             CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W},
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
        },
    [CUDNN_DATA_GRAD] =
        {
            CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
            {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W},
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
        },
    [CUDNN_WEIGHT_GRAD] =
        {
            CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
            {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
        },
};

static cudnnBackendDescriptor_t build_conv(struct cudnn_pool *p,
                                           const struct cudnn_graph *g,
                                           const struct cudnn_op *o,
                                           const cudnnBackendDescriptor_t *tensor)
{
    bool bytes = g->tensor[o->in[0]].dtype == DTYPE_U8;
    const struct conv_names *n = &conv_names[o->kind];
    cudnnBackendDescriptor_t d = cudnn_new(p, n->type);
    float alpha = 1, beta = 0;

    cudnn_set_desc(p, d, n->geometry,
                   build_geometry(p, &o->conv, bytes ? DTYPE_I32 : DTYPE_F32));
    cudnn_set_desc(p, d, n->in[0], tensor[o->in[0]]);
    cudnn_set_desc(p, d, n->in[1], tensor[o->in[1]]);
    cudnn_set_desc(p, d, n->out, tensor[o->out]);
    cudnn_set(p, d, n->alpha, CUDNN_TYPE_FLOAT, 1, &alpha);
    cudnn_set(p, d, n->beta, CUDNN_TYPE_FLOAT, 1, &beta);
    (void)cudnn_finalize(p, d, "operation");
    return d;
}

static const cudnnPointwiseMode_t pointwise_mode[] = {
    [CUDNN_ADD] = CUDNN_POINTWISE_ADD,
    [CUDNN_MUL] = CUDNN_POINTWISE_MUL,
    [CUDNN_RELU] = CUDNN_POINTWISE_RELU_FWD,
    [CUDNN_RELU_GRAD] = CUDNN_POINTWISE_RELU_BWD,
    [CUDNN_IDENTITY] = CUDNN_POINTWISE_IDENTITY,
    [CUDNN_NOT_EQUAL] = CUDNN_POINTWISE_CMP_NEQ,
    [CUDNN_SUB] = CUDNN_POINTWISE_SUB,
    [CUDNN_DIV] = CUDNN_POINTWISE_DIV,
    [CUDNN_EXP] = CUDNN_POINTWISE_EXP,
    [CUDNN_LOG] = CUDNN_POINTWISE_LOG,
    [CUDNN_INDEX] = CUDNN_POINTWISE_GEN_INDEX,
    [CUDNN_LESS] = CUDNN_POINTWISE_CMP_LT,
    [CUDNN_AND] = CUDNN_POINTWISE_LOGICAL_AND,
    [CUDNN_SELECT] = CUDNN_POINTWISE_BINARY_SELECT,
};

/* Returns the type in which a pointwise operation on x is computed. */
static cudnnDataType_t math_type(enum cudnn_op_kind kind, enum dtype x)
{
    if (kind == CUDNN_LESS || kind == CUDNN_AND)
        return CUDNN_DATA_BOOLEAN;
    return kind == CUDNN_INDEX || x == DTYPE_I32 ? CUDNN_DATA_INT32 : CUDNN_DATA_FLOAT;
}

static cudnnBackendDescriptor_t build_mode(struct cudnn_pool *p, const struct cudnn_op *o,
                                           enum dtype x)
{
    cudnnDataType_t type = math_type(o->kind, x);
    cudnnBackendDescriptor_t d = cudnn_new(p, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    cudnnNanPropagation_t nan = CUDNN_PROPAGATE_NAN;
    double limit = (double)o->limit;

    cudnn_set(p, d, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1,
              &pointwise_mode[o->kind]);
    cudnn_set(p, d, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type);
    if (o->kind == CUDNN_INDEX)
        cudnn_set_int(p, d, CUDNN_ATTR_POINTWISE_AXIS, o->axis);
    if (o->kind == CUDNN_RELU || o->kind == CUDNN_RELU_GRAD)
        cudnn_set(p, d, CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION,
                  1, &nan);
    if (o->limit > 0)
        cudnn_set(p, d, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_DOUBLE, 1,
                  &limit);
    (void)cudnn_finalize(p, d, "pointwise mode");
    return d;
}

static cudnnBackendDescriptor_t build_pointwise(struct cudnn_pool *p,
                                                const struct cudnn_graph *g,
                                                const struct cudnn_op *o,
                                                const cudnnBackendDescriptor_t *tensor)
{
    cudnnBackendDescriptor_t d =
        cudnn_new(p, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    bool grad = o->kind == CUDNN_RELU_GRAD;

    cudnn_set_desc(p, d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
                   build_mode(p, o, g->tensor[o->in[0]].dtype));
    cudnn_set_desc(p, d,
                   grad ? CUDNN_ATTR_OPERATION_POINTWISE_DYDESC
                        : CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                   tensor[o->in[0]]);
    if (o->in[1] >= 0)
        cudnn_set_desc(p, d,
                       grad ? CUDNN_ATTR_OPERATION_POINTWISE_XDESC
                            : CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                       tensor[o->in[1]]);
    if (o->kind == CUDNN_SELECT)
        cudnn_set_desc(p, d, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, tensor[o->more[0]]);
    cudnn_set_desc(p, d,
                   grad ? CUDNN_ATTR_OPERATION_POINTWISE_DXDESC
                        : CUDNN_ATTR_OPERATION_POINTWISE_YDESC,
                   tensor[o->out]);
    (void)cudnn_finalize(p, d, "operation");
    return d;
}

static cudnnBackendDescriptor_t build_reduction(struct cudnn_pool *p,
                                                const struct cudnn_graph *g,
                                                const struct cudnn_op *o,
                                                const cudnnBackendDescriptor_t *tensor)
{
    cudnnBackendDescriptor_t how = cudnn_new(p, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    cudnnBackendDescriptor_t d =
        cudnn_new(p, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    cudnnReduceTensorOp_t reduction =
        o->kind == CUDNN_MAX ? CUDNN_REDUCE_TENSOR_MAX : CUDNN_REDUCE_TENSOR_ADD;

    (void)g;
    cudnn_set(p, how, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE,
              1, &reduction);
    set_type(p, how, CUDNN_ATTR_REDUCTION_COMP_TYPE, DTYPE_F32);
    (void)cudnn_finalize(p, how, "reduction");
    cudnn_set_desc(p, d, CUDNN_ATTR_OPERATION_REDUCTION_DESC, how);
    cudnn_set_desc(p, d, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, tensor[o->in[0]]);
    cudnn_set_desc(p, d, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, tensor[o->out]);
    (void)cudnn_finalize(p, d, "operation");
    return d;
}

static cudnnBackendDescriptor_t build_matmul(struct cudnn_pool *p,
                                             const struct cudnn_graph *g,
                                             const struct cudnn_op *o,
                                             const cudnnBackendDescriptor_t *tensor)
{
    static const cudnnBackendAttributeName_t length[] = {
        CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC,
        CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC,
        CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC,
    };
    cudnnBackendDescriptor_t how = cudnn_new(p, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    cudnnBackendDescriptor_t d = cudnn_new(p, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);

    (void)g;
    set_type(p, how, CUDNN_ATTR_MATMUL_COMP_TYPE, DTYPE_F32);
    (void)cudnn_finalize(p, how, "matmul");
    cudnn_set_desc(p, d, CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
    cudnn_set_desc(p, d, CUDNN_ATTR_OPERATION_MATMUL_ADESC, tensor[o->in[0]]);
    cudnn_set_desc(p, d, CUDNN_ATTR_OPERATION_MATMUL_BDESC, tensor[o->in[1]]);
    cudnn_set_desc(p, d, CUDNN_ATTR_OPERATION_MATMUL_CDESC, tensor[o->out]);
    for (int i = 0; i < 3; i++)
        if (o->more[i] >= 0)
            cudnn_set_desc(p, d, length[i], tensor[o->more[i]]);
    (void)cudnn_finalize(p, d, "operation");
    return d;
}

static cudnnBackendDescriptor_t build_reshape(struct cudnn_pool *p,
                                              const struct cudnn_graph *g,
                                              const struct cudnn_op *o,
                                              const cudnnBackendDescriptor_t *tensor)
{
    cudnnBackendDescriptor_t d = cudnn_new(p, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);

    (void)g;
    cudnn_set_desc(p, d, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, tensor[o->in[0]]);
    cudnn_set_desc(p, d, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, tensor[o->out]);
    (void)cudnn_finalize(p, d, "operation");
    return d;
}

static cudnnBackendDescriptor_t build_stats(struct cudnn_pool *p,
                                            const struct cudnn_graph *g,
                                            const struct cudnn_op *o,
                                            const cudnnBackendDescriptor_t *tensor)
{
    cudnnBackendDescriptor_t d =
        cudnn_new(p, CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR);
    cudnnGenStatsMode_t mode = CUDNN_GENSTATS_SUM_SQSUM;

    (void)g;
    cudnn_set(p, d, CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_TYPE_GENSTATS_MODE, 1,
              &mode);
    set_type(p, d, CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, DTYPE_F32);
    cudnn_set_desc(p, d, CUDNN_ATTR_OPERATION_GENSTATS_XDESC, tensor[o->in[0]]);
    cudnn_set_desc(p, d, CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, tensor[o->out]);
    cudnn_set_desc(p, d, CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, tensor[o->more[0]]);
    (void)cudnn_finalize(p, d, "operation");
    return d;
}

/* By kind; NULL: a pointwise operation. */
static cudnnBackendDescriptor_t (*const builder[])(struct cudnn_pool *,
                                                   const struct cudnn_graph *,
                                                   const struct cudnn_op *,
                                                   const cudnnBackendDescriptor_t *) = {
    [CUDNN_CONV] = build_conv,        [CUDNN_DATA_GRAD] = build_conv,
    [CUDNN_WEIGHT_GRAD] = build_conv, [CUDNN_MAX] = build_reduction,
    [CUDNN_SUM] = build_reduction,    [CUDNN_MATMUL] = build_matmul,
    [CUDNN_RESHAPE] = build_reshape,  [CUDNN_STATS] = build_stats,
};

cudnnBackendDescriptor_t cudnn_build(struct cudnn_pool *p, const struct cudnn_graph *g)
{
    cudnnBackendDescriptor_t tensor[CUDNN_TENSORS], op[CUDNN_OPS], d;

    for (int i = 0; i < g->ntensor; i++)
        tensor[i] = build_tensor(p, &g->tensor[i], i + 1);
    for (int i = 0; i < g->nop; i++) {
        const struct cudnn_op *o = &g->op[i];

        op[i] = (builder[o->kind] ? builder[o->kind] : build_pointwise)(p, g, o, tensor);
    }
    d = cudnn_new(p, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    cudnn_set(p, d, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, g->nop,
              op);
    if (p->c->handle)
        cudnn_set(p, d, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1,
                  &p->c->handle);
    return cudnn_finalize(p, d, "operation graph") ? d : NULL;
}
