/*
 * An operation graph without descriptors: tensors, and operations sorted so that each
 * reads only earlier results. Plain data, so it can be copied, hashed, and written as
 * text.
 */
#ifndef EMULATOR_CUDNN_GRAPH_H
#define EMULATOR_CUDNN_GRAPH_H

#include <cudnn.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/emulator/cudnn/descriptor.h"

enum { TENSORS_MAX = 96, OPS_MAX = 48, SLOTS_MAX = 16, SPATIAL_MAX = 3 };

struct tensor {
    int64_t uid, align;
    int64_t dims[CUDNN_DIM_MAX], strides[CUDNN_DIM_MAX];
    int32_t type, rank;
    int32_t real;     /* in memory; else virtual */
    int32_t by_value; /* on the host, read when the plan is executed */
};

/* Slots of the operations, as in the tables of roles. */
enum { CONV_X, CONV_W, CONV_Y }; /* image, filter, response, or their gradients */
enum { PW_X, PW_B, PW_T, PW_Y, PW_DY, PW_DX };
enum { MM_A, MM_B, MM_C, MM_M, MM_N, MM_K }; /* the last three: lengths per batch */
enum { RED_X, RED_Y };
enum { POOL_X, POOL_Y, POOL_INDEX, POOL_DX, POOL_DY };
enum { STATS_X, STATS_SUM, STATS_SQSUM };
enum {
    FIN_SUM,
    FIN_SQSUM,
    FIN_SCALE,
    FIN_BIAS,
    FIN_COUNT,
    FIN_EPSILON,
    FIN_FACTOR,
    FIN_OLD_MEAN,
    FIN_OLD_VAR,
    FIN_NEW_MEAN,
    FIN_NEW_VAR,
    FIN_MEAN,
    FIN_INVSTD,
    FIN_EQ_SCALE,
    FIN_EQ_BIAS,
};
enum {
    BNW_X,
    BNW_DY,
    BNW_MEAN,
    BNW_INVSTD,
    BNW_SCALE,
    BNW_DSCALE,
    BNW_DBIAS,
    BNW_EQ_DY,
    BNW_EQ_X,
    BNW_EQ_BIAS,
};
enum {
    NORM_X,
    NORM_SCALE,
    NORM_BIAS,
    NORM_EPSILON,
    NORM_FACTOR,
    NORM_OLD_MEAN,
    NORM_OLD_VAR,
    NORM_NEW_MEAN,
    NORM_NEW_VAR,
    NORM_MEAN,
    NORM_INVSTD,
    NORM_Y,
    NORM_DY,
    NORM_DX,
    NORM_DSCALE,
    NORM_DBIAS,
};

struct op {
    int32_t kind;            /* type of the descriptor */
    int32_t slot[SLOTS_MAX]; /* index of a tensor; -1: none */
    int32_t mode;            /* of a pointwise op, a reduction, a resample, or a norm */
    int32_t phase;           /* of a norm; the padding mode of a resample */
    int32_t keep_nan;        /* NAN_PROPAGATION */
    int32_t spatial;
    int32_t axis; /* of GEN_INDEX; -1: not set */
    int32_t sums; /* type used for computation */
    int64_t pre[SPATIAL_MAX], post[SPATIAL_MAX], stride[SPATIAL_MAX];
    int64_t dilation[SPATIAL_MAX], window[SPATIAL_MAX];
    double alpha, beta; /* alpha and alpha2 of a pointwise op */
    double lower, upper, slope, elu_alpha, softplus_beta, swish_beta;
};

struct graph {
    int32_t ntensor, nop;
    struct tensor tensor[TENSORS_MAX];
    struct op op[OPS_MAX];
};

struct role {
    cudnnBackendDescriptorType_t kind;
    cudnnBackendAttributeName_t name;
    int slot;
    bool written;
};

/* Roles of one kind of operation; *n: their number. */
const struct role *graph_roles(int kind, int *n);
bool graph_writes(const struct op *op, int slot);

/* roles.c: read a tensor or an operation descriptor. */
void graph_read_tensor(const struct descriptor *d, struct tensor *t);
void graph_read_op(const struct descriptor *d, struct op *op);

/* Reads the operations of an OPERATIONGRAPH descriptor into d->graph, or returns an
 * error. */
cudnnStatus_t graph_build(struct descriptor *d);

/* Returns why no engine supports the graph, or NULL. */
const char *graph_unsupported(const struct graph *g);

/*
 * attention.c: graphs with several GEMMs. attention_unsupported returns why the graph is
 * not attention, or its gradient, as the fused engines support it, or NULL.
 */
bool graph_is_attention(const struct graph *g);
bool attention_is_gradient(const struct graph *g);
const char *attention_unsupported(const struct graph *g);
/* results are NaN by a known bug */
bool attention_loses(const struct graph *g, int version);
bool attention_adds_up(const struct graph *g); /* sums in memory, in any order */

/* True if it has a convolution or a GEMM that a tensor-core engine computes in TF32. */
bool graph_has_float_product(const struct graph *g);

uint64_t graph_hash(const struct graph *g);

/* Returns the elements from the first to the last, including gaps. */
int64_t tensor_span(const struct tensor *t);
int64_t tensor_size(int type); /* bytes per element; of booleans, in a number on the host */
/* Bytes in memory, where a byte has eight booleans. */
int64_t tensor_bytes(const struct tensor *t);

#endif
