#include "cuda/cudnn_emit.h"

#include "base/error.h"
#include "cuda/cudnn_bits.h"
#include "cuda/pad.h"
#include "cuda/weights.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/batchnorm_parts.h"
#include "ops/cast.h"
#include "ops/conv2d.h"

struct node *cudnn_fold_of(const struct node *apply)
{
    const struct node *conv = apply->in[BATCHNORM_APPLY_X]->producer;
    struct node *fold = apply->in[BATCHNORM_APPLY_SCALE]->producer;

    if (!fold || fold->op != &op_batchnorm_fold || !conv || conv->op != &op_conv2d ||
        !cuda_weights_master(conv->in[CONV2D_WEIGHT]) ||
        apply->in[BATCHNORM_APPLY_SHIFT] != fold->out[BATCHNORM_FOLD_SHIFT])
        return NULL;
    for (int i = 0; i < fold->nin; i++)
        if (fold->in[i]->memory != MEMORY_WEIGHTS)
            return NULL;
    return conv->nin == CONV2D_BIAS || cuda_weights_master(conv->in[CONV2D_BIAS]) ? fold
                                                                                  : NULL;
}

static int value(const struct cudnn_claim *c, const struct tensor *t)
{
    for (int i = c->graph.ntensor; i-- > 0;)
        if (c->value_of[i] == t)
            return i;
    return -1;
}

static int read_as(struct cudnn_claim *c, struct tensor *t, enum cudnn_source source,
                   enum dtype dtype)
{
    int i = cudnn_graph_tensor(&c->graph, t, dtype, true);

    c->operand[i] = (struct cudnn_operand){source, t};
    return i;
}

/* Returns the graph's tensor for t: computed inside, or read. */
static int input(struct cudnn_claim *c, struct tensor *t)
{
    int i = value(c, t);

    return i >= 0 ? i : read_as(c, t, CUDNN_SOURCE_READ, t->dtype);
}

/*
 * With 16-bit data, parameters come from the flat 16-bit copy: weights (through their
 * cast) and biases, because cuDNN's fast engines want a bias in the type of the data.
 */
static int parameter(struct cudnn_claim *c, struct tensor *t, enum dtype type)
{
    struct tensor *master = dtype_is_half(type) ? cuda_weights_master(t) : NULL;

    if (!master)
        return input(c, t);
    if (t->producer)
        c->cast = t->producer;
    return read_as(c, master, CUDNN_SOURCE_HALF, type);
}

static int output(struct cudnn_claim *c, const struct tensor *t)
{
    int i = cudnn_graph_tensor(&c->graph, t, DTYPE_F32, false);

    c->value_of[i] = t;
    return i;
}

/* Weights or a vector padded with zeros, as c->stored and c->joined require. */
static int filled(struct cudnn_claim *c, struct tensor *t, enum dtype type)
{
    int i = read_as(c, cuda_weights_master(t), CUDNN_SOURCE_PADDED, type);

    if (t->producer)
        c->cast = t->producer;
    if (t->ndim == 1)
        cudnn_graph_channels(&c->graph, i, c->joined->dim[1]);
    else if (c->stored)
        cudnn_graph_channels(&c->graph, i, c->stored);
    if (t->ndim > 1 && c->joined)
        cudnn_graph_filters(&c->graph, i, c->joined->dim[1]);
    return i;
}

/* Folded weights, padded with zero channels if the image is padded. */
static int folded(struct cudnn_claim *c, struct tensor *w, enum dtype type)
{
    int i = read_as(c, cuda_weights_master(w), CUDNN_SOURCE_FOLDED_WEIGHTS, type);

    if (w->producer)
        c->cast = w->producer;
    if (c->stored)
        cudnn_graph_channels(&c->graph, i, c->stored);
    return i;
}

/* The gradient of a convolution's result; the joined tensor's if that is faster. */
static int gradient(struct cudnn_claim *c, struct tensor *dy, bool may)
{
    c->joined = may && !c->plain ? cuda_joined(dy) : NULL;
    c->slice = c->joined ? dy->producer : NULL;
    return input(c, c->joined ? c->joined : dy);
}

/* An image read by convolutions, with its channels as stored. */
static int image(struct cudnn_claim *c, struct tensor *x)
{
    int i = input(c, x);

    c->stored = cuda_stored_channels(c->g, x);
    if (c->stored)
        cudnn_graph_channels(&c->graph, i, c->stored);
    return i;
}

/* A bias is added after an add: cuDNN's fast engines want (conv + other) + bias. */
static int with_bias(struct cudnn_claim *c, int i)
{
    if (c->bias < 0)
        return i;
    i = cudnn_graph_pointwise(&c->graph, CUDNN_ADD, i, c->bias, 0);
    c->bias = -1;
    return i;
}

static struct cudnn_geometry geometry(const struct node *n)
{
    const struct conv2d_attrs *a = n->attrs;

    return (struct cudnn_geometry){
        .pad = {a->pad_h, a->pad_w},
        .stride = {a->stride_h, a->stride_w},
        .dilation = {a->dilation_h, a->dilation_w},
    };
}

bool cudnn_fills(const struct cudnn_claim *c)
{
    return c->joined && c->node[0]->op == &op_conv2d;
}

/* Adds a bias in the graph, or after the plan. The latter is always used for a wider
 * result, which has more channels than the bias until it is cut. */
static void emit_bias(struct cudnn_claim *c, const struct node *n, int slot,
                      enum dtype type)
{
    if (n->nin <= slot)
        return;
    if (c->bias_apart || (c->stored && n->op == &op_conv2d_data_grad))
        c->bias_after = n->in[slot];
    else if (cudnn_fills(c))
        c->bias = filled(c, n->in[slot], type);
    else
        c->bias = parameter(c, n->in[slot], type);
}

/* The weights and the bias with the following batch norm folded in. */
static int emit_folded(struct cudnn_claim *c, const struct node *n, enum dtype type)
{
    int pos = folded(c, n->in[CONV2D_WEIGHT], type);

    c->folded = n->nin > CONV2D_BIAS ? n->in[CONV2D_BIAS] : NULL;
    c->bias =
        read_as(c, c->fold->out[BATCHNORM_FOLD_SHIFT], CUDNN_SOURCE_FOLDED_BIAS, type);
    return pos;
}

static void emit_conv2d(struct cudnn_claim *c, const struct node *n)
{
    struct cudnn_geometry geo = geometry(n);
    enum dtype type = n->in[CONV2D_X]->dtype;
    int x = image(c, n->in[CONV2D_X]), w, y;

    if (c->nnode > 1 && c->node[1]->op == &op_batchnorm_apply)
        c->fold = cudnn_fold_of(c->node[1]);
    if (c->fold) {
        w = emit_folded(c, n, type);
    } else {
        w = c->stored || c->joined ? filled(c, n->in[CONV2D_WEIGHT], type)
                                   : parameter(c, n->in[CONV2D_WEIGHT], type);
        emit_bias(c, n, CONV2D_BIAS, type);
    }
    y = output(c, n->out[0]);
    if (c->joined)
        cudnn_graph_channels(&c->graph, y, c->joined->dim[1]);
    cudnn_graph_conv(&c->graph, CUDNN_CONV, &geo, x, w, y);
}

static bool grouped(const struct node *n)
{
    return ((const struct conv2d_attrs *)n->attrs)->groups > 1;
}

/*
 * Channels of a transposed convolution's 16-bit result in the workspace, if engines are
 * faster with more channels: for 20 classes, cuDNN only has engines without tensor cores.
 */
static int64_t wide_result(const struct cudnn_claim *c, const struct node *n)
{
    int64_t channels = n->out[0]->dim[1], padded = (channels + 7) / 8 * 8;

    return c->nnode == 1 && !c->plain && !c->joined && !grouped(n) &&
                   cuda_weights_master(n->in[CONV2D_DATA_GRAD_WEIGHT]) &&
                   cuda_pays_to_fill(n->out[0]->dtype, channels, padded)
               ? padded
               : 0;
}

static void emit_data_grad(struct cudnn_claim *c, const struct node *n)
{
    struct cudnn_geometry geo = geometry(n);
    struct tensor *t = n->in[CONV2D_DATA_GRAD_DY], *weights;
    int dy, w, dx;

    weights = n->in[CONV2D_DATA_GRAD_WEIGHT];
    dy = gradient(c, t, cuda_weights_master(weights) && !grouped(n));
    c->stored = wide_result(c, n);
    w = c->stored || c->joined ? filled(c, weights, t->dtype)
                               : parameter(c, weights, t->dtype);
    emit_bias(c, n, CONV2D_DATA_GRAD_BIAS, t->dtype);
    dx = output(c, n->out[0]);
    if (c->stored)
        cudnn_graph_channels(&c->graph, dx, c->stored);
    cudnn_graph_conv(&c->graph, CUDNN_DATA_GRAD, &geo, dy, w, dx);
}

static void emit_weight_grad(struct cudnn_claim *c, const struct node *n)
{
    struct cudnn_geometry geo = geometry(n);
    int x = image(c, n->in[CONV2D_WEIGHT_GRAD_X]);
    int dy = gradient(c, n->in[CONV2D_WEIGHT_GRAD_DY], !grouped(n));
    int dw = output(c, n->out[0]);

    if (c->stored)
        cudnn_graph_channels(&c->graph, dw, c->stored);
    if (c->joined)
        cudnn_graph_filters(&c->graph, dw, c->joined->dim[1]);
    cudnn_graph_conv(&c->graph, CUDNN_WEIGHT_GRAD, &geo, x, dy, dw);
}

static void emit_add(struct cudnn_claim *c, const struct node *n)
{
    int inside = value(c, n->in[0]) >= 0 ? 0 : 1;
    int a = value(c, n->in[inside]), b = input(c, n->in[1 - inside]);

    c->value_of[cudnn_graph_pointwise(&c->graph, CUDNN_ADD, a, b, 0)] = n->out[0];
}

/* Appends y != 0, which is true for NaN, too, so that gradients pass there as elsewhere in
 * this program; `bits` is NULL if only a plan is wanted. */
static void emit_bits(struct cudnn_claim *c, const struct tensor *y, struct tensor *bits)
{
    const struct cudnn_tensor number = {.dtype = DTYPE_F32,
                                        .real = true,
                                        .by_value = true,
                                        .dim = {1, 1, 1, 1},
                                        .stride = {1, 1, 1, 1}};
    int x = value(c, y), zero = cudnn_graph_add(&c->graph, &number);
    int b = cudnn_graph_tensor(&c->graph, y, DTYPE_F32, true);

    c->graph.tensor[b].boolean = true;
    c->operand[zero].source = CUDNN_SOURCE_ZERO;
    c->operand[b] = (struct cudnn_operand){CUDNN_SOURCE_WRITE, bits};
    (void)cudnn_graph_op(&c->graph, CUDNN_NOT_EQUAL, x, zero, b);
}

static void emit_relu(struct cudnn_claim *c, const struct node *n)
{
    bool made = n->op == &op_relu_bits;
    int x = with_bias(c, value(c, n->in[ACTIVATION_X]));
    float limit = made ? 0 : relu_limit(n);

    c->value_of[cudnn_graph_pointwise(&c->graph, CUDNN_RELU, x, -1, limit)] = n->out[0];
    if (c->bits)
        emit_bits(c, n->out[0], NULL);
    else if (made && tensor_stored(c->g, n->out[RELU_BITS_BITS], NULL))
        emit_bits(c, n->out[0], n->out[RELU_BITS_BITS]);
}

/* Returns the booleans that a gradient reads. */
static int bits_input(struct cudnn_claim *c, const struct node *n)
{
    int i = cudnn_graph_tensor(&c->graph, n->out[0], DTYPE_F32, true);

    c->graph.tensor[i].boolean = true;
    c->operand[i] =
        (struct cudnn_operand){CUDNN_SOURCE_READ, n->in[RELU_BITS_GRAD_BITS]};
    return i;
}

static void emit_relu_grad(struct cudnn_claim *c, const struct node *n)
{
    bool bits = c->bits || n->op == &op_relu_bits_grad;
    int dy = value(c, n->in[ACTIVATION_GRAD_DY]);
    int y = bits ? bits_input(c, n) : input(c, n->in[ACTIVATION_GRAD_Y]);

    c->value_of[cudnn_graph_pointwise(&c->graph, CUDNN_RELU_GRAD, dy, y, 0)] = n->out[0];
}

/* Its values are folded into the weights. */
static void emit_apply(struct cudnn_claim *c, const struct node *n)
{
    c->value_of[value(c, n->in[BATCHNORM_APPLY_X])] = n->out[0];
}

/* Values inside are fp32 anyway, so a cast is just another name. */
static void emit_cast(struct cudnn_claim *c, const struct node *n)
{
    c->value_of[value(c, n->in[CAST_X])] = n->out[0];
}

/* The convolution's result is stored as well. */
static void emit_stats(struct cudnn_claim *c, const struct node *n)
{
    struct tensor *y = n->in[BATCHNORM_STATS_X];
    struct tensor *squares = n->out[BATCHNORM_STATS_SQUARES];
    int x = value(c, y), sum = output(c, n->out[BATCHNORM_STATS_SUM]);
    int second = output(c, squares);

    c->graph.tensor[x].real = c->graph.tensor[second].real = true;
    c->graph.tensor[x].dtype = y->dtype;
    c->operand[x] = (struct cudnn_operand){CUDNN_SOURCE_WRITE, y};
    c->operand[second] = (struct cudnn_operand){CUDNN_SOURCE_WRITE, squares};
    cudnn_graph_op(&c->graph, CUDNN_STATS, x, -1, sum)->more[0] = second;
}

static const struct emit {
    const struct op *op;
    void (*emit)(struct cudnn_claim *c, const struct node *n);
} emit_table[] = {
    {&op_conv2d, emit_conv2d},
    {&op_conv2d_data_grad, emit_data_grad},
    {&op_conv2d_weight_grad, emit_weight_grad},
    {&op_add, emit_add},
    {&op_cast, emit_cast},
    {&op_batchnorm_apply, emit_apply},
    {&op_batchnorm_stats, emit_stats},
    {&op_relu_bits, emit_relu},
    {&op_relu_bits_grad, emit_relu_grad},
};

static void emit_node(struct cudnn_claim *c, const struct node *n)
{
    if (is_relu(n)) {
        emit_relu(c, n);
        return;
    }
    if (is_relu_grad(n)) {
        emit_relu_grad(c, n);
        return;
    }
    for (size_t i = 0; i < sizeof(emit_table) / sizeof(emit_table[0]); i++)
        if (emit_table[i].op == n->op) {
            emit_table[i].emit(c, n);
            return;
        }
    BUG("%s in a region of cuDNN", node_title(n));
}

/* Makes the last value real. cuDNN writes gradients of 16-bit weights in 16 bits only. */
static void emit_result(struct cudnn_claim *c)
{
    const struct node *n = c->node[c->nnode - 1];
    struct tensor *out = n->out[0];
    int last = with_bias(c, value(c, out));
    bool weights = n->op == &op_conv2d_weight_grad;
    bool widen = weights && (out->dtype != n->in[0]->dtype || c->stored || c->joined);
    bool cut = n->op == &op_conv2d_data_grad && c->stored;

    c->graph.tensor[last].real = true;
    c->graph.tensor[last].dtype = widen ? n->in[0]->dtype : out->dtype;
    c->operand[last] =
        (struct cudnn_operand){widen || cut ? CUDNN_SOURCE_SCRATCH : CUDNN_SOURCE_WRITE,
                               cudnn_fills(c) ? c->joined : out};
}

void cudnn_emit(struct cudnn_claim *c)
{
    for (int i = 0; i < c->nnode; i++)
        emit_node(c, c->node[i]);
    emit_result(c);
}
