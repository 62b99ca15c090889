/*
 * Graphs that engines support. cuDNN's own answer depends on the release; these limits
 * hold for all releases, to catch a backend that overlooks one: one GEMM, convolution, or
 * pool per graph except in attention, 16-bit results of weight gradients of 16-bit data,
 * statistics only after another operation, filters in their memory layout.
 */
#include "tests/emulator/cudnn/graph.h"

#define KIND(k) ((int)CUDNN_BACKEND_OPERATION_##k##_DESCRIPTOR)

static bool is_convolution(int kind)
{
    return kind == KIND(CONVOLUTION_FORWARD) || kind == KIND(CONVOLUTION_BACKWARD_DATA) ||
           kind == KIND(CONVOLUTION_BACKWARD_FILTER);
}

/* True for operations that read more than one element per result. */
static bool is_main(int kind)
{
    return is_convolution(kind) || kind == KIND(MATMUL) || kind == KIND(RESAMPLE_FWD) ||
           kind == KIND(RESAMPLE_BWD) || kind == KIND(NORM_FORWARD) ||
           kind == KIND(NORM_BACKWARD);
}

bool graph_has_float_product(const struct graph *g)
{
    for (int i = 0; i < g->nop; i++) {
        const struct op *op = &g->op[i];

        if (!is_convolution(op->kind) && op->kind != KIND(MATMUL))
            continue;
        for (int s = 0; s < 3; s++)
            if (!graph_writes(op, s) && g->tensor[op->slot[s]].type == CUDNN_DATA_FLOAT)
                return true;
    }
    return false;
}

/* int8 by int8 is only a forward pass without groups that stores int32. */
static const char *bytes_unsupported(const struct graph *g, const struct op *op)
{
    const struct tensor *x = &g->tensor[op->slot[CONV_X]];
    const struct tensor *w = &g->tensor[op->slot[CONV_W]];
    const struct tensor *y = &g->tensor[op->slot[CONV_Y]];

    if (op->kind != KIND(CONVOLUTION_FORWARD) || op->sums != CUDNN_DATA_INT32)
        return "int8 has only forward passes, with sums in int32";
    if (y->type != CUDNN_DATA_INT32)
        return "the sums of int8 are int32";
    if (g->nop > 1 &&
        (g->nop != 2 || y->real || g->op[1].mode != CUDNN_POINTWISE_IDENTITY))
        return "the sums of int8 are stored as they are";
    if (x->dims[1] != w->dims[1])
        return "int8 has no groups";
    return x->dims[1] % 16 || y->dims[1] % 16 ? "int8 wants channels in sixteens" : NULL;
}

static const char *convolution_unsupported(const struct graph *g, const struct op *op)
{
    const struct tensor *t[3];
    int data = -1;

    for (int s = 0; s < 3; s++)
        t[s] = &g->tensor[op->slot[s]];
    for (int s = 0; s < 3; s++) {
        if (graph_writes(op, s) || !t[s]->real)
            continue;
        if (data >= 0 && t[s]->type != data)
            return "the convolution's operands differ in type";
        data = t[s]->type;
    }
    if (data == CUDNN_DATA_INT8 && op->spatial == 2)
        return bytes_unsupported(g, op);
    if (op->sums != CUDNN_DATA_FLOAT)
        return "sums of floats in another type";
    if (data != CUDNN_DATA_FLOAT && data != CUDNN_DATA_HALF &&
        data != CUDNN_DATA_BFLOAT16)
        return "the convolution's type is neither float nor half nor bfloat16";
    if (op->kind != KIND(CONVOLUTION_BACKWARD_FILTER) && !t[CONV_W]->real)
        return "the filter is not in memory";
    if (op->spatial != 2)
        return "only convolutions of two spatial dimensions";
    for (int s = 0; s < 3; s++)
        if (graph_writes(op, s) && t[s]->real && t[s]->type != data)
            return "the convolution's result has another type than its operands";
    return NULL;
}

static const char *op_unsupported(const struct graph *g, const struct op *op)
{
    if (is_convolution(op->kind))
        return convolution_unsupported(g, op);
    if (op->kind == KIND(POINTWISE) && op->mode >= CUDNN_POINTWISE_CMP_EQ &&
        op->mode <= CUDNN_POINTWISE_CMP_LE && op->sums != CUDNN_DATA_FLOAT)
        return "comparisons outside of attention are computed in float";
    if (op->kind == KIND(GEN_STATS) && g->nop == 1)
        return "no engine computes only statistics";
    return NULL;
}

const char *graph_unsupported(const struct graph *g)
{
    int mains = 0;

    if (graph_is_attention(g))
        return attention_unsupported(g);
    for (int i = 0; i < g->nop; i++) {
        const char *why = op_unsupported(g, &g->op[i]);

        if (why)
            return why;
        mains += is_main(g->op[i].kind);
    }
    return mains > 1 ? "more than one main operation" : NULL;
}
