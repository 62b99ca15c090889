/*
 * Tests whether an engine keeps NaN. NAN_PROPAGATION requires that of a relu, and yet
 * some of cuDNN's engines clip their results by max(NaN, 0) = 0; only a run can tell. A
 * NaN lost in a forward pass is an overflow that the loss scaler does not see. So an
 * engine that adds something to a convolution, or applies a relu to it, is run once on
 * NaN inputs, and its results must be NaN. The same holds for attention, whose maxima
 * ignore NaN.
 */
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "cuda/cudnn_engine.h"

/* SAMPLE: bytes of the result checked at either end. */
enum { SAMPLE = 1 << 18, ALIGN = 256, NAN_BYTE = 0xff, POSITIVE_BYTE = 0x3c };

#define CHECK(dev, call) cuda_check((dev), (int)(call), #call)

/* True if each output along an axis reads at least one element that is not padding. */
static bool axis_reads_input(int64_t in, int64_t out, int64_t taps, int64_t pad,
                             int64_t stride, int64_t dilation)
{
    for (int64_t o = 0; o < out; o++) {
        bool any = false;

        for (int64_t k = 0; k < taps; k++) {
            int64_t pos = o * stride - pad + k * dilation;

            any |= pos >= 0 && pos < in;
        }
        if (!any)
            return false;
    }
    return true;
}

static bool each_reads(const struct cudnn_graph *g)
{
    const struct cudnn_op *o = &g->op[0];
    const struct cudnn_tensor *x = &g->tensor[o->in[0]], *w = &g->tensor[o->in[1]];
    const struct cudnn_tensor *y = &g->tensor[o->out];
    bool all = true;

    for (int a = 0; a < 2; a++)
        all &= axis_reads_input(x->dim[2 + a], y->dim[2 + a], w->dim[2 + a],
                                o->conv.pad[a], o->conv.stride[a], o->conv.dilation[a]);
    return all;
}

/* True for attention. */
static bool has_matmul(const struct cudnn_graph *g)
{
    bool has = false;

    for (int i = 0; i < g->nop; i++)
        has |= g->op[i].kind == CUDNN_MATMUL;
    return has;
}

bool cudnn_may_lose_nan(const struct cudnn_graph *g)
{
    bool adds = false, clips = false;

    if (has_matmul(g))
        return true;

    for (int i = 0; i < g->nop; i++) {
        adds |= g->op[i].kind == CUDNN_ADD;
        clips |= g->op[i].kind == CUDNN_RELU;
    }
    for (int i = 0; i < g->ntensor; i++)
        if (g->tensor[i].dtype == DTYPE_U8 || g->tensor[i].dtype == DTYPE_I32)
            return false; /* no NaN to lose */
    return adds || (clips && g->op[0].kind == CUDNN_CONV && each_reads(g));
}

struct trial {
    void *memory, *workspace;
    struct cudnn_plan plan;
    struct cudnn_pack pack;
    void *pointer[CUDNN_TENSORS];
};

static size_t tensor_bytes(const struct cudnn_graph *g, int i)
{
    return (cudnn_graph_bytes(g, i) + ALIGN - 1) / ALIGN * ALIGN;
}

/* Returns the byte to fill a tensor with: NaN, but positive for the input that selects a
 * relu's gradient, because no gradient passes elsewhere. Booleans are true. */
static int fill_of(const struct cudnn_graph *g, int tensor)
{
    for (int i = 0; i < g->nop; i++)
        if (g->op[i].kind == CUDNN_RELU_GRAD && g->op[i].in[1] == tensor &&
            !g->tensor[tensor].boolean)
            return POSITIVE_BYTE;
    return NAN_BYTE;
}

static bool is_nan(const char *address, enum dtype d)
{
    uint32_t wide;
    uint16_t half;

    memcpy(&wide, address, sizeof(wide));
    memcpy(&half, address, sizeof(half));
    if (d == DTYPE_F32)
        return (wide & 0x7fffffff) > 0x7f800000;
    return (half & 0x7fff) > (d == DTYPE_F16 ? 0x7c00 : 0x7f80);
}

/* True if all elements of t among the n from `first` on are NaN; `host` holds them. */
static bool elements_nan(const struct cudnn_tensor *t, const char *host, int64_t first,
                         int64_t n)
{
    size_t each = dtype_size(t->dtype);
    bool all = true;

    for (int64_t a = 0; a < t->dim[0]; a++)
        for (int64_t b = 0; b < t->dim[1]; b++)
            for (int64_t c = 0; c < t->dim[2]; c++) {
                int64_t row = a * t->stride[0] + b * t->stride[1] + c * t->stride[2];

                for (int64_t d = 0; d < t->dim[3]; d++) {
                    int64_t i = row + d * t->stride[3] - first;

                    if (i >= 0 && i < n)
                        all &= is_nan(host + (size_t)i * each, t->dtype);
                }
            }
    return all;
}

/* True if bytes [first, first + n) of a tensor at address `address` are NaN. */
static bool all_nan(struct device *dev, const struct cudnn_graph *g, int tensor,
                    const char *address, size_t first, size_t n)
{
    const struct cudnn_tensor *t = &g->tensor[tensor];
    size_t each = dtype_size(t->dtype);
    bool dense = cudnn_graph_bytes(g, tensor) / each ==
                 (size_t)(t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3]);
    char *host = xmalloc(n + sizeof(uint32_t));
    bool all = true;

    CHECK(dev,
          cudaMemcpyAsync(host, address + first, n, cudaMemcpyDeviceToHost, dev->stream));
    CHECK(dev, cudaStreamSynchronize(dev->stream));
    if (dense)
        for (size_t i = 0; i < n; i += each)
            all &= is_nan(host + i, t->dtype);
    else
        all = elements_nan(t, host, (int64_t)(first / each), (int64_t)(n / each));
    free(host);
    return all;
}

/* True for the output of the last operation and for other 16-bit results; other fp32
 * results are not tensors of the network. */
static bool is_result(const struct cudnn_graph *g, int tensor)
{
    const struct cudnn_tensor *t = &g->tensor[tensor];
    bool written = false, half = dtype_is_half(t->dtype);

    if (t->boolean)
        return false;

    for (int i = 0; i < g->nop; i++)
        written |= g->op[i].out == tensor && t->real && (half || i == g->nop - 1);
    return written;
}

/* Checks both ends of all results. */
static bool results_nan(struct device *dev, const struct cudnn_graph *g,
                        const struct trial *t)
{
    bool all = true;

    for (int i = 0; i < t->plan.nuid; i++) {
        int tensor = (int)t->plan.uid[i] - 1;
        size_t bytes = cudnn_graph_bytes(g, tensor);
        size_t part = bytes < SAMPLE ? bytes : SAMPLE;

        if (is_result(g, tensor))
            all &= all_nan(dev, g, tensor, t->pointer[i], 0, part) &&
                   all_nan(dev, g, tensor, t->pointer[i], bytes - part, part);
    }
    return all;
}

/* Allocates the graph's tensors in one block; returns false if memory is short. */
static bool alloc_tensors(struct cudnn *c, const struct cudnn_graph *g, struct trial *t,
                          size_t workspace)
{
    size_t bytes = workspace + ALIGN;
    cudaError_t e;

    for (int i = 0; i < g->ntensor; i++)
        bytes += g->tensor[i].real ? tensor_bytes(g, i) : 0;
    e = cudaMalloc(&t->memory, bytes);
    if (e == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        log_once("no room to see whether cuDNN's engines keep NaN: they are taken as "
                 "they are");
        return false;
    }
    cuda_check(c->dev, (int)e, "cudaMalloc");
    return true;
}

/* Fills all tensors with NaN, except results (0) and values that the graph prescribes. */
static void fill_tensors(struct cudnn *c, const struct cudnn_graph *g, struct trial *t)
{
    char *address = t->memory;

    for (int i = 0; i < g->ntensor; i++) {
        const struct cudnn_tensor *x = &g->tensor[i];
        size_t bytes = tensor_bytes(g, i);

        if (!x->real)
            continue;
        t->plan.uid[t->plan.nuid] = i + 1;
        t->pointer[t->plan.nuid++] = cudnn_tensor_at(x, address);
        if (x->filled)
            cudnn_fill(c->dev, x, address);
        else
            CHECK(c->dev, cudaMemsetAsync(address, is_result(g, i) ? 0 : fill_of(g, i),
                                          bytes, c->dev->stream));
        address += bytes;
    }
    t->workspace = address;
}

bool cudnn_keeps_nan(struct cudnn *c, const struct cudnn_graph *g,
                     const struct cudnn_candidate *k)
{
    struct trial t = {.plan = {.desc = k->plan}};
    bool keeps;

    if (!alloc_tensors(c, g, &t, k->workspace))
        return true;
    fill_tensors(c, g, &t);
    /* A plan that does not run is replaced when it is first used. Attention is refused
     * right away instead, because our own kernels can take it. */
    if (cudnn_plan_try(c, &t.plan, &t.pack, t.pointer, t.workspace))
        keeps = !has_matmul(g);
    else
        keeps = results_nan(c->dev, g, &t);
    CHECK(c->dev, cudaStreamSynchronize(c->dev->stream));
    cudnn_pack_release(&t.pack);
    CHECK(c->dev, cudaFree(t.memory));
    return keeps;
}
