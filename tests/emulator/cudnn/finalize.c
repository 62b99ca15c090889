/*
 * Checks a descriptor when it is finalized. cuDNN reports most mistakes as BAD_PARAM
 * here; whether an engine exists is checked separately (supported.c).
 */
#include <string.h>

#include "tests/emulator/cudnn/descriptor.h"
#include "tests/emulator/cudnn/error.h"
#include "tests/emulator/cudnn/graph.h"
#include "tests/emulator/cudnn/plan.h"
#include "tests/emulator/cudnn/run.h"
#include "tests/emulator/cudnn/schema.h"

#define KIND(k) ((int)CUDNN_BACKEND_OPERATION_##k##_DESCRIPTOR)
#define OK      CUDNN_STATUS_SUCCESS

/* True if two elements share an address. They do not if each stride, from the smallest
 * on, exceeds the span of the dims before it. */
static bool overlaps(const struct tensor *t)
{
    int64_t reach = 1;
    bool used[CUDNN_DIM_MAX] = {0};

    for (int n = 0; n < t->rank; n++) {
        int least = -1;

        for (int i = 0; i < t->rank; i++)
            if (!used[i] &&
                (least < 0 || t->strides[i] < t->strides[least] ||
                 (t->strides[i] == t->strides[least] && t->dims[i] < t->dims[least])))
                least = i;
        used[least] = true;
        if (t->dims[least] > 1 && t->strides[least] < reach)
            return true;
        if (t->dims[least] > 1)
            reach = t->strides[least] * (t->dims[least] - 1) + reach;
    }
    return false;
}

static cudnnStatus_t check_tensor(const struct descriptor *d)
{
    const struct attribute *strides = descriptor_get(d, CUDNN_ATTR_TENSOR_STRIDES);
    struct tensor t;
    int64_t size, count = 1;

    graph_read_tensor(d, &t);
    size = tensor_size(t.type);
    if (!size)
        return BAD("tensor %lld: no such data type: %d", (long long)t.uid, t.type);
    if (strides->count != t.rank)
        return BAD("tensor %lld: %d dimensions, %lld strides", (long long)t.uid, t.rank,
                   (long long)strides->count);
    for (int i = 0; i < t.rank; i++) {
        if (t.dims[i] < 1 || t.strides[i] < 0)
            return BAD("tensor %lld: dimension %d is %lld, its stride %lld",
                       (long long)t.uid, i, (long long)t.dims[i],
                       (long long)t.strides[i]);
        count *= t.dims[i];
    }
    if (t.align <= 0 || t.align % size)
        return BAD("tensor %lld: alignment %lld is no multiple of the element's %lld",
                   (long long)t.uid, (long long)t.align, (long long)size);
    if (t.by_value && (count != 1 || !t.real))
        return BAD("tensor %lld is by value: one number, not virtual", (long long)t.uid);
    if (overlaps(&t))
        return BAD("tensor %lld: its strides put two elements at one place",
                   (long long)t.uid);
    return OK;
}

static cudnnStatus_t check_convolution(const struct descriptor *d)
{
    static const cudnnBackendAttributeName_t arrays[] = {
        CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS,
        CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_ATTR_CONVOLUTION_DILATIONS};
    int64_t n = descriptor_int(d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0);
    int64_t type = descriptor_int(d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, 0);

    if (type != CUDNN_DATA_FLOAT && type != CUDNN_DATA_INT32)
        return refuse(CUDNN_STATUS_NOT_SUPPORTED,
                      "convolutions are computed in float or int32");
    for (int i = 0; i < 4; i++) {
        const struct attribute *a = descriptor_get(d, arrays[i]);

        if (a->count != n)
            return BAD("%lld spatial dimensions, but attribute %d has %lld", (long long)n,
                       (int)arrays[i], (long long)a->count);
        for (int64_t j = 0; j < n; j++)
            if (((const int64_t *)a->data)[j] < (i < 2 ? 0 : 1))
                return BAD("attribute %d of a convolution is %lld", (int)arrays[i],
                           (long long)((const int64_t *)a->data)[j]);
    }
    return OK;
}

static cudnnStatus_t check_reduction(const struct descriptor *d)
{
    int64_t how = descriptor_int(d, CUDNN_ATTR_REDUCTION_OPERATOR, 0);

    if (how < 0 || how > CUDNN_REDUCE_TENSOR_AMAX)
        return refuse(CUDNN_STATUS_NOT_SUPPORTED, "no such reduction: %lld",
                      (long long)how);
    return OK;
}

/* An operation with the tensors of its slots; slot[i] is NULL for an empty slot. */
struct operands {
    struct op op;
    struct tensor tensor[SLOTS_MAX];
    const struct tensor *slot[SLOTS_MAX];
};

static void read_operands(const struct descriptor *d, struct operands *o)
{
    int n;
    const struct role *r = graph_roles((int)d->type, &n);

    memset(o, 0, sizeof(*o));
    graph_read_op(d, &o->op);
    for (int i = 0; i < n; i++) {
        const struct descriptor *t = descriptor_of(d, r[i].name);

        if (!t)
            continue;
        graph_read_tensor(t, &o->tensor[r[i].slot]);
        o->slot[r[i].slot] = &o->tensor[r[i].slot];
    }
}

static bool same_dims(const struct tensor *a, const struct tensor *b)
{
    return a->rank == b->rank &&
           !memcmp(a->dims, b->dims, sizeof(a->dims[0]) * (size_t)a->rank);
}

static cudnnStatus_t check_convolution_op(const struct operands *o)
{
    const struct tensor *x = o->slot[CONV_X], *w = o->slot[CONV_W], *y = o->slot[CONV_Y];
    const struct op *op = &o->op;

    if (x->rank != op->spatial + 2 || w->rank != x->rank || y->rank != x->rank)
        return BAD("convolution of %d spatial dimensions with tensors of rank %d, %d, %d",
                   op->spatial, x->rank, w->rank, y->rank);
    if (x->dims[0] != y->dims[0])
        return BAD("convolution: batch %lld in, %lld out", (long long)x->dims[0],
                   (long long)y->dims[0]);
    if (y->dims[1] != w->dims[0])
        return BAD("convolution: %lld filters, %lld channels out", (long long)w->dims[0],
                   (long long)y->dims[1]);
    if (x->dims[1] % w->dims[1] || w->dims[0] % (x->dims[1] / w->dims[1]))
        return BAD("convolution: %lld channels, filters of %lld, %lld filters",
                   (long long)x->dims[1], (long long)w->dims[1], (long long)w->dims[0]);
    for (int i = 0; i < op->spatial; i++) {
        int64_t span = op->dilation[i] * (w->dims[i + 2] - 1) + 1;
        int64_t room = x->dims[i + 2] + op->pre[i] + op->post[i] - span;

        if (room < 0 || y->dims[i + 2] != room / op->stride[i] + 1)
            return BAD("convolution: spatial dimension %d is %lld, expected %lld", i,
                       (long long)y->dims[i + 2],
                       (long long)(room < 0 ? 0 : room / op->stride[i] + 1));
    }
    return OK;
}

/* True if b can be broadcast to y: each dimension is y's or 1. */
static bool broadcasts(const struct tensor *b, const struct tensor *y)
{
    if (b->rank != y->rank)
        return false;
    for (int i = 0; i < b->rank; i++)
        if (b->dims[i] != y->dims[i] && b->dims[i] != 1)
            return false;
    return true;
}

/* Indices are int32, along an axis. */
static cudnnStatus_t check_index(const struct op *op, const struct tensor *y)
{
    if (op->mode == CUDNN_POINTWISE_GEN_INDEX &&
        (op->axis < 0 || op->axis >= y->rank || y->type != CUDNN_DATA_INT32))
        return BAD("indices: int32, along an axis that is there");
    return OK;
}

static cudnnStatus_t check_pointwise_op(const struct operands *o)
{
    int mode = o->op.mode, inputs = pointwise_inputs(mode);
    bool back = mode >= CUDNN_POINTWISE_RELU_BWD && mode < CUDNN_POINTWISE_CMP_EQ;
    const struct tensor *y = o->slot[back ? PW_DX : PW_Y], *x = o->slot[PW_X];
    const struct tensor *b = o->slot[back ? PW_DY : PW_B], *t = o->slot[PW_T];

    if (!inputs)
        return refuse(CUDNN_STATUS_NOT_SUPPORTED, "no such pointwise mode: %d", mode);
    if (!y || o->slot[back ? PW_Y : PW_DX] || o->slot[back ? PW_B : PW_DY])
        return BAD("pointwise mode %d: %s", mode,
                   back ? "wants X, DY and DX" : "wants X, B, T and Y");
    if (!b != (inputs < 2) || !t != (inputs < 3))
        return BAD("pointwise mode %d takes %d inputs", mode, inputs);
    if (!broadcasts(x, y) || (b && !broadcasts(b, y)) || (t && !broadcasts(t, y)))
        return BAD("pointwise mode %d: an input cannot be broadcast to the output", mode);
    for (int i = 0; i < y->rank; i++)
        if (x->dims[i] != y->dims[i] && (!b || b->dims[i] != y->dims[i]))
            return BAD("pointwise mode %d: no input has dimension %d of the output", mode,
                       i);
    return check_index(&o->op, y);
}

static cudnnStatus_t check_resample(const struct operands *o)
{
    bool back = o->op.kind == KIND(RESAMPLE_BWD);
    const struct tensor *x = o->slot[back ? POOL_DX : POOL_X];
    const struct tensor *y = o->slot[back ? POOL_DY : POOL_Y],
                        *index = o->slot[POOL_INDEX];
    const struct op *op = &o->op;
    bool max = op->mode == CUDNN_RESAMPLE_MAXPOOL;

    if (x->rank != op->spatial + 2 || y->rank != x->rank || op->spatial != 2 ||
        x->dims[0] != y->dims[0] || x->dims[1] != y->dims[1])
        return BAD("resample: the tensors do not fit");
    if (!max && op->mode != CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING &&
        op->mode != CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING)
        return refuse(CUDNN_STATUS_NOT_SUPPORTED, "resample mode %d", op->mode);
    for (int i = 0; i < op->spatial; i++) {
        int64_t room = x->dims[i + 2] + op->pre[i] + op->post[i] - op->window[i];

        if (op->window[i] < 1 || op->stride[i] < 1 || room < 0 ||
            y->dims[i + 2] != room / op->stride[i] + 1)
            return BAD("resample: spatial dimension %d is %lld", i,
                       (long long)y->dims[i + 2]);
    }
    if (index && (!max || !same_dims(index, y) || index->type != CUDNN_DATA_INT8))
        return BAD("resample: indices are int8, of max pooling, one a result");
    if (back && max && !index)
        return BAD("resample: the gradient of max pooling wants indices");
    return OK;
}

static cudnnStatus_t check_matmul(const struct operands *o)
{
    const struct tensor *a = o->slot[MM_A], *b = o->slot[MM_B], *c = o->slot[MM_C];
    int r = c->rank;

    if (r < 3 || a->rank != r || b->rank != r)
        return BAD("matmul: ranks %d, %d, %d", a->rank, b->rank, r);
    if (a->dims[r - 1] != b->dims[r - 2] || a->dims[r - 2] != c->dims[r - 2] ||
        b->dims[r - 1] != c->dims[r - 1])
        return BAD("matmul: the matrices do not fit");
    for (int s = MM_M; s <= MM_K; s++) {
        const struct tensor *n = o->slot[s];

        for (int i = 0; n && i < n->rank; i++)
            if (n->type != CUDNN_DATA_INT32 || n->dims[i] != (i ? 1 : c->dims[0]))
                return BAD("matmul: lengths are int32, one for each of the batch");
    }
    for (int i = 0; i < r - 2; i++)
        if ((a->dims[i] != c->dims[i] && a->dims[i] != 1) ||
            (b->dims[i] != c->dims[i] && b->dims[i] != 1))
            return BAD("matmul: batch dimension %d does not fit", i);
    return OK;
}

/* True for [1, C, 1, 1], and for NULL. */
static bool is_vector(const struct tensor *t, int64_t channels)
{
    for (int i = 0; t && i < t->rank; i++)
        if (t->dims[i] != (i == 1 ? channels : 1))
            return false;
    return true;
}

static cudnnStatus_t check_vectors(const struct operands *o, int operand, int begin,
                                   int end)
{
    int64_t channels = o->slot[operand]->rank > 1 ? o->slot[operand]->dims[1] : 0;

    for (int s = begin; s <= end; s++)
        if (!(o->op.kind == KIND(BN_FINALIZE_STATISTICS) && s >= FIN_COUNT &&
              s <= FIN_FACTOR) &&
            !is_vector(o->slot[s], channels))
            return BAD("slot %d of operation %d wants [1,%lld,1,1]", s, o->op.kind,
                       (long long)channels);
    return OK;
}

/* Statistics, scales, and the like are [1,C,1,1] for batch norm, [N,1,1,1] for layer
 * norm; this checks that each dimension is x's or 1. */
static cudnnStatus_t check_norm(const struct operands *o)
{
    const struct tensor *x = o->slot[NORM_X];
    bool back = o->op.kind == KIND(NORM_BACKWARD);

    for (int s = 0; s < SLOTS_MAX; s++)
        if (o->slot[s] && !broadcasts(o->slot[s], x))
            return BAD("norm: slot %d does not fit x", s);
    if (!same_dims(x, o->slot[back ? NORM_DX : NORM_Y]) ||
        (back && !same_dims(x, o->slot[NORM_DY])))
        return BAD("norm: the images differ in shape");
    if (o->op.mode != CUDNN_BATCH_NORM && o->op.mode != CUDNN_LAYER_NORM &&
        o->op.mode != CUDNN_INSTANCE_NORM)
        return refuse(CUDNN_STATUS_NOT_SUPPORTED, "norm mode %d", o->op.mode);
    if (!o->slot[NORM_MEAN] || !o->slot[NORM_INVSTD])
        return BAD("norm: mean and inverse deviation are wanted");
    if (!back && o->op.phase == CUDNN_NORM_FWD_TRAINING && !o->slot[NORM_EPSILON])
        return BAD("norm: training wants an epsilon");
    return OK;
}

static cudnnStatus_t check_op(const struct descriptor *d)
{
    struct operands o;

    read_operands(d, &o);
    switch ((int)d->type) {
    case KIND(CONVOLUTION_FORWARD):
    case KIND(CONVOLUTION_BACKWARD_DATA):
    case KIND(CONVOLUTION_BACKWARD_FILTER):
        return check_convolution_op(&o);
    case KIND(POINTWISE):
        return check_pointwise_op(&o);
    case KIND(RESAMPLE_FWD):
    case KIND(RESAMPLE_BWD):
        return check_resample(&o);
    case KIND(MATMUL):
        return check_matmul(&o);
    case KIND(REDUCTION):
        return broadcasts(o.slot[RED_Y], o.slot[RED_X]) ? OK : BAD("reduction: shapes");
    case KIND(RESHAPE): {
        int64_t x = 1, y = 1;

        for (int i = 0; i < o.slot[RED_X]->rank; i++)
            x *= o.slot[RED_X]->dims[i];
        for (int i = 0; i < o.slot[RED_Y]->rank; i++)
            y *= o.slot[RED_Y]->dims[i];
        return x == y ? OK
                      : BAD("reshape: %lld elements of %lld", (long long)y, (long long)x);
    }
    case KIND(GEN_STATS):
        return check_vectors(&o, STATS_X, STATS_SUM, STATS_SQSUM);
    case KIND(BN_FINALIZE_STATISTICS):
        return check_vectors(&o, FIN_SUM, FIN_SQSUM, FIN_EQ_BIAS);
    case KIND(BN_BWD_WEIGHTS):
        return check_vectors(&o, BNW_X, BNW_MEAN, BNW_EQ_BIAS);
    default:
        return check_norm(&o);
    }
}

cudnnStatus_t descriptor_finalize(struct descriptor *d)
{
    size_t pos = 0;
    const struct schema *s;
    int n;
    cudnnStatus_t bad = OK;

    if (d->finalized)
        return BAD("the descriptor is finalized already");
    while ((s = schema_needed(d->type, &pos)) != NULL)
        if (!descriptor_get(d, s->name))
            return BAD("descriptor of type %d: attribute %d is missing", (int)d->type,
                       (int)s->name);
    if (d->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR)
        bad = check_tensor(d);
    else if (d->type == CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR)
        bad = check_convolution(d);
    else if (d->type == CUDNN_BACKEND_REDUCTION_DESCRIPTOR)
        bad = check_reduction(d);
    else if (d->type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)
        bad = graph_build(d);
    else if (graph_roles((int)d->type, &n))
        bad = check_op(d);
    else
        bad = plan_finalize(d);
    d->finalized = !bad;
    return bad;
}
