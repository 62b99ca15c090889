#include "cuda/cudnn_graph.h"

#include <string.h>

#include "base/error.h"

int cudnn_graph_tensor(struct cudnn_graph *g, const struct tensor *t, enum dtype dtype,
                       bool real)
{
    struct cudnn_tensor *c = &g->tensor[g->ntensor];
    int64_t channels = t->dim[t->ndim - 1];

    if (g->ntensor == CUDNN_TENSORS)
        BUG("'%s': more than %d tensors in one operation graph", t->name, CUDNN_TENSORS);
    c->dtype = dtype;
    c->real = real;
    if (t->layout == LAYOUT_IMAGE) {
        memcpy(c->dim, t->dim, sizeof(c->dim));
        c->stride[0] = t->dim[1] * t->dim[2] * t->dim[3];
        c->stride[1] = 1;
        c->stride[2] = t->dim[1] * t->dim[3];
        c->stride[3] = t->dim[1];
    } else {
        memcpy(c->dim, (int64_t[]){1, channels, 1, 1}, sizeof(c->dim));
        memcpy(c->stride, (int64_t[]){channels, 1, channels, channels},
               sizeof(c->stride));
    }
    return g->ntensor++;
}

enum { N, C, H, W };

static void set_image(struct cudnn_tensor *t, int64_t n, int64_t h, int64_t w)
{
    int64_t c = t->dim[C];

    memcpy(t->dim, (int64_t[]){n, c, h, w}, sizeof(t->dim));
    memcpy(t->stride, (int64_t[]){h * w * c, 1, w * c, c}, sizeof(t->stride));
}

int cudnn_graph_stored(struct cudnn_graph *g, const int64_t dim[4], enum dtype dtype)
{
    struct cudnn_tensor *t = &g->tensor[g->ntensor];

    if (g->ntensor == CUDNN_TENSORS)
        BUG("more than %d tensors in one operation graph", CUDNN_TENSORS);
    t->dtype = dtype;
    t->real = true;
    t->dim[C] = dim[C];
    set_image(t, dim[N], dim[H], dim[W]);
    return g->ntensor++;
}

void cudnn_graph_channels(struct cudnn_graph *g, int i, int64_t channels)
{
    struct cudnn_tensor *t = &g->tensor[i];

    t->dim[C] = channels;
    set_image(t, t->dim[N], t->dim[H], t->dim[W]);
}

void cudnn_graph_filters(struct cudnn_graph *g, int i, int64_t filters)
{
    g->tensor[i].dim[N] = filters;
}

size_t cudnn_graph_bytes(const struct cudnn_graph *g, int i)
{
    const struct cudnn_tensor *t = &g->tensor[i];

    int64_t last = 0;

    for (int d = 0; d < 4; d++)
        last += (t->dim[d] - 1) * t->stride[d];
    return t->boolean ? (size_t)(last + 8) / 8 : (size_t)(last + 1) * dtype_size(t->dtype);
}

int cudnn_graph_add(struct cudnn_graph *g, const struct cudnn_tensor *t)
{
    if (g->ntensor == CUDNN_TENSORS)
        BUG("more than %d tensors in one operation graph", CUDNN_TENSORS);
    g->tensor[g->ntensor] = *t;
    return g->ntensor++;
}

/* A virtual fp32 tensor with the shape of tensor i. */
static int new_virtual(struct cudnn_graph *g, int i)
{
    struct cudnn_tensor t = g->tensor[i];

    t.dtype = DTYPE_F32;
    t.real = false;
    return cudnn_graph_add(g, &t);
}

static struct cudnn_op *new_op(struct cudnn_graph *g)
{
    if (g->nop == CUDNN_OPS)
        BUG("more than %d operations in one operation graph", CUDNN_OPS);
    return &g->op[g->nop++];
}

struct cudnn_op *cudnn_graph_op(struct cudnn_graph *g, enum cudnn_op_kind kind, int a,
                                int b, int out)
{
    struct cudnn_op *o = new_op(g);

    *o = (struct cudnn_op){
        .kind = kind, .in = {a, b}, .out = out, .axis = -1, .more = {-1, -1, -1}};
    return o;
}

void cudnn_graph_conv(struct cudnn_graph *g, enum cudnn_op_kind kind,
                      const struct cudnn_geometry *geometry, int a, int b, int out)
{
    *new_op(g) =
        (struct cudnn_op){.kind = kind, .in = {a, b}, .out = out, .conv = *geometry};
}

int cudnn_graph_pointwise(struct cudnn_graph *g, enum cudnn_op_kind kind, int a, int b,
                          float limit)
{
    int out = new_virtual(g, a);

    *new_op(g) =
        (struct cudnn_op){.kind = kind, .in = {a, b}, .out = out, .limit = limit};
    return out;
}

static bool is_vector(const struct cudnn_tensor *t)
{
    return t->dim[N] == 1 && t->dim[H] == 1 && t->dim[W] == 1;
}

/* Returns the tensor that holds the weights or their gradient. */
static int weights_of(const struct cudnn_op *o)
{
    return o->kind == CUDNN_WEIGHT_GRAD ? o->out : o->in[1];
}

void cudnn_graph_undilate(struct cudnn_graph *g)
{
    struct cudnn_op *o = &g->op[0];
    struct cudnn_geometry *geo = &o->conv;
    struct cudnn_tensor *weights;
    int axis;
    int64_t d;

    if (!g->nop || o->kind > CUDNN_WEIGHT_GRAD)
        return;
    weights = &g->tensor[weights_of(o)];
    axis = weights->dim[H] > 1 ? 0 : 1; /* spatial axis */
    d = geo->dilation[axis];
    if (d < 2 || weights->dim[axis ? H : W] != 1 || geo->stride[0] != 1 ||
        geo->stride[1] != 1 || geo->pad[1 - axis] || geo->pad[axis] % d)
        return;
    for (int i = 0; i < g->ntensor; i++)
        if (&g->tensor[i] != weights && !is_vector(&g->tensor[i]) &&
            g->tensor[i].dim[axis ? W : H] % d)
            return;

    for (int i = 0; i < g->ntensor; i++) {
        struct cudnn_tensor *t = &g->tensor[i];

        if (t == weights || is_vector(t))
            continue;
        if (axis)
            set_image(t, t->dim[N] * t->dim[H], t->dim[W] / d, d);
        else
            set_image(t, t->dim[N], t->dim[H] / d, d * t->dim[W]);
    }
    set_image(weights, weights->dim[N], weights->dim[axis ? W : H], 1);
    geo->pad[0] = geo->pad[axis] / d;
    geo->pad[1] = 0;
    geo->dilation[0] = geo->dilation[1] = 1;
}

static const char *const kind_name[] = {
    [CUDNN_CONV] = "conv",
    [CUDNN_DATA_GRAD] = "data_grad",
    [CUDNN_WEIGHT_GRAD] = "weight_grad",
    [CUDNN_ADD] = "add",
    [CUDNN_MUL] = "mul",
    [CUDNN_RELU] = "relu",
    [CUDNN_RELU_GRAD] = "relu_grad",
    [CUDNN_IDENTITY] = "identity",
    [CUDNN_NOT_EQUAL] = "not_equal",
    [CUDNN_SUB] = "sub",
    [CUDNN_DIV] = "div",
    [CUDNN_EXP] = "exp",
    [CUDNN_LOG] = "log",
    [CUDNN_INDEX] = "index",
    [CUDNN_LESS] = "less",
    [CUDNN_AND] = "and",
    [CUDNN_SELECT] = "select",
    [CUDNN_MAX] = "max",
    [CUDNN_SUM] = "sum",
    [CUDNN_MATMUL] = "matmul",
    [CUDNN_RESHAPE] = "reshape",
    [CUDNN_STATS] = "stats",
};

static void add_numbers(struct strbuf *s, const int64_t *v, int n)
{
    for (int i = 0; i < n; i++)
        strbuf_addf(s, " %lld", (long long)v[i]);
}

void cudnn_graph_text(const struct cudnn_graph *g, struct strbuf *s)
{
    for (int i = 0; i < g->ntensor; i++) {
        const struct cudnn_tensor *t = &g->tensor[i];

        strbuf_addf(s, "%d %s %s", i + 1, t->boolean ? "boolean" : dtype_name(t->dtype),
                    t->real ? "real" : "virtual");
        add_numbers(s, t->dim, 4);
        strbuf_addstr(s, " /");
        add_numbers(s, t->stride, 4);
        if (t->by_value || t->filled)
            strbuf_addf(s, " %s %.9g", t->filled ? "filled with" : "by value",
                        (double)t->value);
        strbuf_addch(s, '\n');
    }
    for (int i = 0; i < g->nop; i++) {
        const struct cudnn_op *o = &g->op[i];

        strbuf_addf(s, "%s %d %d -> %d", kind_name[o->kind], o->in[0] + 1, o->in[1] + 1,
                    o->out + 1);
        if (o->kind <= CUDNN_WEIGHT_GRAD) {
            strbuf_addstr(s, " pad, stride, dilation");
            add_numbers(s, o->conv.pad, 2);
            add_numbers(s, o->conv.stride, 2);
            add_numbers(s, o->conv.dilation, 2);
        }
        if (o->limit > 0)
            strbuf_addf(s, " limit %.9g", (double)o->limit);
        if (o->kind > CUDNN_IDENTITY)
            strbuf_addf(s, " with %d %d %d axis %d", o->more[0] + 1, o->more[1] + 1,
                        o->more[2] + 1, o->axis);
        strbuf_addch(s, '\n');
    }
}
