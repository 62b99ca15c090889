/* Converts tensor and operation descriptors to plain data. */
#include <math.h>
#include <string.h>

#include "tests/emulator/cudnn/graph.h"

#define NAMED(kind) CUDNN_BACKEND_OPERATION_##kind##_DESCRIPTOR
#define IN(k, n, s)                                                                      \
    {                                                                                    \
        .kind = NAMED(k), .name = CUDNN_ATTR_OPERATION_##n, .slot = s                    \
    }
#define OUT(k, n, s)                                                                     \
    {                                                                                    \
        .kind = NAMED(k), .name = CUDNN_ATTR_OPERATION_##n, .slot = s, .written = true   \
    }

static const struct role roles[] = {
    IN(CONVOLUTION_FORWARD, CONVOLUTION_FORWARD_X, CONV_X),
    IN(CONVOLUTION_FORWARD, CONVOLUTION_FORWARD_W, CONV_W),
    OUT(CONVOLUTION_FORWARD, CONVOLUTION_FORWARD_Y, CONV_Y),
    OUT(CONVOLUTION_BACKWARD_DATA, CONVOLUTION_BWD_DATA_DX, CONV_X),
    IN(CONVOLUTION_BACKWARD_DATA, CONVOLUTION_BWD_DATA_W, CONV_W),
    IN(CONVOLUTION_BACKWARD_DATA, CONVOLUTION_BWD_DATA_DY, CONV_Y),
    IN(CONVOLUTION_BACKWARD_FILTER, CONVOLUTION_BWD_FILTER_X, CONV_X),
    OUT(CONVOLUTION_BACKWARD_FILTER, CONVOLUTION_BWD_FILTER_DW, CONV_W),
    IN(CONVOLUTION_BACKWARD_FILTER, CONVOLUTION_BWD_FILTER_DY, CONV_Y),
    IN(POINTWISE, POINTWISE_XDESC, PW_X),
    IN(POINTWISE, POINTWISE_BDESC, PW_B),
    IN(POINTWISE, POINTWISE_TDESC, PW_T),
    OUT(POINTWISE, POINTWISE_YDESC, PW_Y),
    IN(POINTWISE, POINTWISE_DYDESC, PW_DY),
    OUT(POINTWISE, POINTWISE_DXDESC, PW_DX),
    IN(MATMUL, MATMUL_ADESC, MM_A),
    IN(MATMUL, MATMUL_BDESC, MM_B),
    OUT(MATMUL, MATMUL_CDESC, MM_C),
    IN(MATMUL, MATMUL_GEMM_M_OVERRIDE_DESC, MM_M),
    IN(MATMUL, MATMUL_GEMM_N_OVERRIDE_DESC, MM_N),
    IN(MATMUL, MATMUL_GEMM_K_OVERRIDE_DESC, MM_K),
    IN(REDUCTION, REDUCTION_XDESC, RED_X),
    OUT(REDUCTION, REDUCTION_YDESC, RED_Y),
    IN(RESHAPE, RESHAPE_XDESC, RED_X),
    OUT(RESHAPE, RESHAPE_YDESC, RED_Y),
    IN(RESAMPLE_FWD, RESAMPLE_FWD_XDESC, POOL_X),
    OUT(RESAMPLE_FWD, RESAMPLE_FWD_YDESC, POOL_Y),
    OUT(RESAMPLE_FWD, RESAMPLE_FWD_IDXDESC, POOL_INDEX),
    IN(RESAMPLE_BWD, RESAMPLE_BWD_XDESC, POOL_X),
    IN(RESAMPLE_BWD, RESAMPLE_BWD_YDESC, POOL_Y),
    IN(RESAMPLE_BWD, RESAMPLE_BWD_IDXDESC, POOL_INDEX),
    OUT(RESAMPLE_BWD, RESAMPLE_BWD_DXDESC, POOL_DX),
    IN(RESAMPLE_BWD, RESAMPLE_BWD_DYDESC, POOL_DY),
    IN(GEN_STATS, GENSTATS_XDESC, STATS_X),
    OUT(GEN_STATS, GENSTATS_SUMDESC, STATS_SUM),
    OUT(GEN_STATS, GENSTATS_SQSUMDESC, STATS_SQSUM),
    IN(BN_FINALIZE_STATISTICS, BN_FINALIZE_Y_SUM_DESC, FIN_SUM),
    IN(BN_FINALIZE_STATISTICS, BN_FINALIZE_Y_SQ_SUM_DESC, FIN_SQSUM),
    IN(BN_FINALIZE_STATISTICS, BN_FINALIZE_SCALE_DESC, FIN_SCALE),
    IN(BN_FINALIZE_STATISTICS, BN_FINALIZE_BIAS_DESC, FIN_BIAS),
    IN(BN_FINALIZE_STATISTICS, BN_FINALIZE_ACCUM_COUNT_DESC, FIN_COUNT),
    IN(BN_FINALIZE_STATISTICS, BN_FINALIZE_EPSILON_DESC, FIN_EPSILON),
    IN(BN_FINALIZE_STATISTICS, BN_FINALIZE_EXP_AVERATE_FACTOR_DESC, FIN_FACTOR),
    IN(BN_FINALIZE_STATISTICS, BN_FINALIZE_PREV_RUNNING_MEAN_DESC, FIN_OLD_MEAN),
    IN(BN_FINALIZE_STATISTICS, BN_FINALIZE_PREV_RUNNING_VAR_DESC, FIN_OLD_VAR),
    OUT(BN_FINALIZE_STATISTICS, BN_FINALIZE_UPDATED_RUNNING_MEAN_DESC, FIN_NEW_MEAN),
    OUT(BN_FINALIZE_STATISTICS, BN_FINALIZE_UPDATED_RUNNING_VAR_DESC, FIN_NEW_VAR),
    OUT(BN_FINALIZE_STATISTICS, BN_FINALIZE_SAVED_MEAN_DESC, FIN_MEAN),
    OUT(BN_FINALIZE_STATISTICS, BN_FINALIZE_SAVED_INV_STD_DESC, FIN_INVSTD),
    OUT(BN_FINALIZE_STATISTICS, BN_FINALIZE_EQ_SCALE_DESC, FIN_EQ_SCALE),
    OUT(BN_FINALIZE_STATISTICS, BN_FINALIZE_EQ_BIAS_DESC, FIN_EQ_BIAS),
    IN(BN_BWD_WEIGHTS, BN_BWD_WEIGHTS_X_DESC, BNW_X),
    IN(BN_BWD_WEIGHTS, BN_BWD_WEIGHTS_DY_DESC, BNW_DY),
    IN(BN_BWD_WEIGHTS, BN_BWD_WEIGHTS_MEAN_DESC, BNW_MEAN),
    IN(BN_BWD_WEIGHTS, BN_BWD_WEIGHTS_INVSTD_DESC, BNW_INVSTD),
    IN(BN_BWD_WEIGHTS, BN_BWD_WEIGHTS_BN_SCALE_DESC, BNW_SCALE),
    OUT(BN_BWD_WEIGHTS, BN_BWD_WEIGHTS_DBN_SCALE_DESC, BNW_DSCALE),
    OUT(BN_BWD_WEIGHTS, BN_BWD_WEIGHTS_DBN_BIAS_DESC, BNW_DBIAS),
    OUT(BN_BWD_WEIGHTS, BN_BWD_WEIGHTS_EQ_DY_SCALE_DESC, BNW_EQ_DY),
    OUT(BN_BWD_WEIGHTS, BN_BWD_WEIGHTS_EQ_X_SCALE_DESC, BNW_EQ_X),
    OUT(BN_BWD_WEIGHTS, BN_BWD_WEIGHTS_EQ_BIAS, BNW_EQ_BIAS),
    IN(NORM_FORWARD, NORM_FWD_XDESC, NORM_X),
    IN(NORM_FORWARD, NORM_FWD_SCALE_DESC, NORM_SCALE),
    IN(NORM_FORWARD, NORM_FWD_BIAS_DESC, NORM_BIAS),
    IN(NORM_FORWARD, NORM_FWD_EPSILON_DESC, NORM_EPSILON),
    IN(NORM_FORWARD, NORM_FWD_EXP_AVG_FACTOR_DESC, NORM_FACTOR),
    IN(NORM_FORWARD, NORM_FWD_INPUT_RUNNING_MEAN_DESC, NORM_OLD_MEAN),
    IN(NORM_FORWARD, NORM_FWD_INPUT_RUNNING_VAR_DESC, NORM_OLD_VAR),
    OUT(NORM_FORWARD, NORM_FWD_OUTPUT_RUNNING_MEAN_DESC, NORM_NEW_MEAN),
    OUT(NORM_FORWARD, NORM_FWD_OUTPUT_RUNNING_VAR_DESC, NORM_NEW_VAR),
    OUT(NORM_FORWARD, NORM_FWD_MEAN_DESC, NORM_MEAN), /* read in inference */
    OUT(NORM_FORWARD, NORM_FWD_INV_VARIANCE_DESC, NORM_INVSTD),
    OUT(NORM_FORWARD, NORM_FWD_YDESC, NORM_Y),
    IN(NORM_BACKWARD, NORM_BWD_XDESC, NORM_X),
    IN(NORM_BACKWARD, NORM_BWD_DYDESC, NORM_DY),
    IN(NORM_BACKWARD, NORM_BWD_SCALE_DESC, NORM_SCALE),
    IN(NORM_BACKWARD, NORM_BWD_MEAN_DESC, NORM_MEAN),
    IN(NORM_BACKWARD, NORM_BWD_INV_VARIANCE_DESC, NORM_INVSTD),
    IN(NORM_BACKWARD, NORM_BWD_EPSILON_DESC, NORM_EPSILON),
    OUT(NORM_BACKWARD, NORM_BWD_DSCALE_DESC, NORM_DSCALE),
    OUT(NORM_BACKWARD, NORM_BWD_DBIAS_DESC, NORM_DBIAS),
    OUT(NORM_BACKWARD, NORM_BWD_DXDESC, NORM_DX),
};

enum { NROLE = sizeof(roles) / sizeof(roles[0]) };

const struct role *graph_roles(int kind, int *n)
{
    int first = 0;

    *n = 0;
    while (first < NROLE && (int)roles[first].kind != kind)
        first++;
    while (first + *n < NROLE && (int)roles[first + *n].kind == kind)
        ++*n;
    return *n ? &roles[first] : NULL;
}

bool graph_writes(const struct op *op, int slot)
{
    int n;
    const struct role *r = graph_roles(op->kind, &n);

    if (op->kind == NAMED(NORM_FORWARD) && op->phase == CUDNN_NORM_FWD_INFERENCE &&
        (slot == NORM_MEAN || slot == NORM_INVSTD))
        return false;
    for (int i = 0; i < n; i++)
        if (r[i].slot == slot)
            return r[i].written;
    return false;
}

void graph_read_tensor(const struct descriptor *d, struct tensor *t)
{
    memset(t, 0, sizeof(*t));
    t->uid = descriptor_int(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, 0);
    t->align = descriptor_int(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 0);
    t->type = (int32_t)descriptor_int(d, CUDNN_ATTR_TENSOR_DATA_TYPE, 0);
    t->rank = descriptor_ints(d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_DIM_MAX, t->dims);
    (void)descriptor_ints(d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_DIM_MAX, t->strides);
    t->real = !descriptor_true(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
    t->by_value = descriptor_true(d, CUDNN_ATTR_TENSOR_IS_BY_VALUE);
}

static void read_convolution(const struct descriptor *d, struct op *op)
{
    op->mode = (int32_t)descriptor_int(d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, 0);
    op->spatial = (int32_t)descriptor_int(d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0);
    op->sums = (int32_t)descriptor_int(d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, 0);
    descriptor_ints(d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, SPATIAL_MAX, op->pre);
    descriptor_ints(d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, SPATIAL_MAX, op->post);
    descriptor_ints(d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, SPATIAL_MAX, op->stride);
    descriptor_ints(d, CUDNN_ATTR_CONVOLUTION_DILATIONS, SPATIAL_MAX, op->dilation);
}

static void read_pointwise(const struct descriptor *d, struct op *op)
{
    op->mode = (int32_t)descriptor_int(d, CUDNN_ATTR_POINTWISE_MODE, 0);
    op->keep_nan = (int32_t)descriptor_int(d, CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, 0);
    op->axis = (int32_t)descriptor_int(d, CUDNN_ATTR_POINTWISE_AXIS, -1);
    op->sums = (int32_t)descriptor_int(d, CUDNN_ATTR_POINTWISE_MATH_PREC, 0);
    op->lower = descriptor_number(d, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, 0);
    op->upper = descriptor_number(d, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, HUGE_VAL);
    op->slope = descriptor_number(d, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 0);
    op->elu_alpha = descriptor_number(d, CUDNN_ATTR_POINTWISE_ELU_ALPHA, 1);
    op->softplus_beta = descriptor_number(d, CUDNN_ATTR_POINTWISE_SOFTPLUS_BETA, 1);
    op->swish_beta = descriptor_number(d, CUDNN_ATTR_POINTWISE_SWISH_BETA, 1);
}

static void read_resample(const struct descriptor *d, struct op *op)
{
    op->mode = (int32_t)descriptor_int(d, CUDNN_ATTR_RESAMPLE_MODE, 0);
    op->phase = (int32_t)descriptor_int(d, CUDNN_ATTR_RESAMPLE_PADDING_MODE, 0);
    op->spatial = (int32_t)descriptor_int(d, CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS, 0);
    descriptor_ints(d, CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, SPATIAL_MAX, op->pre);
    descriptor_ints(d, CUDNN_ATTR_RESAMPLE_POST_PADDINGS, SPATIAL_MAX, op->post);
    descriptor_ints(d, CUDNN_ATTR_RESAMPLE_STRIDES, SPATIAL_MAX, op->stride);
    descriptor_ints(d, CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, SPATIAL_MAX, op->window);
}

/* The attributes of an operation's description and its two factors; 0 if it has none. */
struct parts {
    int kind, description, alpha, beta;
};

static const struct parts parts[] = {
    {NAMED(CONVOLUTION_FORWARD), CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {NAMED(CONVOLUTION_BACKWARD_DATA),
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {NAMED(CONVOLUTION_BACKWARD_FILTER),
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
    {NAMED(POINTWISE), CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2},
    {NAMED(REDUCTION), CUDNN_ATTR_OPERATION_REDUCTION_DESC, 0, 0},
    {NAMED(MATMUL), CUDNN_ATTR_OPERATION_MATMUL_DESC, 0, 0},
    {NAMED(RESAMPLE_FWD), CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC, 0, 0},
    {NAMED(RESAMPLE_BWD), CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DESC, 0, 0},
};

static void read_parts(const struct descriptor *d, const struct parts *p, struct op *op)
{
    const struct descriptor *engine =
        descriptor_of(d, (cudnnBackendAttributeName_t)p->description);

    if (p->alpha) {
        op->alpha = descriptor_number(d, (cudnnBackendAttributeName_t)p->alpha, 1);
        op->beta = descriptor_number(d, (cudnnBackendAttributeName_t)p->beta,
                                     p->kind == NAMED(POINTWISE) ? 1 : 0);
    }
    if (engine->type == CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR)
        read_convolution(engine, op);
    if (engine->type == CUDNN_BACKEND_POINTWISE_DESCRIPTOR)
        read_pointwise(engine, op);
    if (engine->type == CUDNN_BACKEND_MATMUL_DESCRIPTOR)
        op->sums = (int32_t)descriptor_int(engine, CUDNN_ATTR_MATMUL_COMP_TYPE, 0);
    if (engine->type == CUDNN_BACKEND_REDUCTION_DESCRIPTOR)
        op->mode = (int32_t)descriptor_int(engine, CUDNN_ATTR_REDUCTION_OPERATOR, 0);
    if (engine->type == CUDNN_BACKEND_RESAMPLE_DESCRIPTOR)
        read_resample(engine, op);
}

void graph_read_op(const struct descriptor *d, struct op *op)
{
    memset(op, 0, sizeof(*op));
    op->kind = (int32_t)d->type;
    for (int i = 0; i < SLOTS_MAX; i++)
        op->slot[i] = -1;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (parts[i].kind == op->kind)
            read_parts(d, &parts[i], op);
    if (op->kind == NAMED(NORM_FORWARD)) {
        op->mode = (int32_t)descriptor_int(d, CUDNN_ATTR_OPERATION_NORM_FWD_MODE, 0);
        op->phase = (int32_t)descriptor_int(d, CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, 0);
    }
    if (op->kind == NAMED(NORM_BACKWARD))
        op->mode = (int32_t)descriptor_int(d, CUDNN_ATTR_OPERATION_NORM_BWD_MODE, 0);
}
