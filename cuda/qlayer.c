/*
 * 8-bit layers by cuDNN: an int8 convolution with exact int32 sums in the workspace, and
 * one pass of our own that converts the sums for the next layers (ops/qchain.h: shortcut,
 * ReLU, quantization). A linear layer is a 1x1 convolution.
 *
 * cuDNN's tensor-core engines (9.19, on Hopper) only read int8, so uint8 is copied with
 * 128 subtracted, which inverts its highest bit. The correction of the sums depends only
 * on which taps lie within the image, and is a sum of weights (cuda_qlayer_offsets). The
 * engines want channels and filters in multiples of CHANNELS: the same copy pads channels
 * with zeros.
 *
 * The images are processed in parts, so that the L2 cache holds the sums between the two
 * passes.
 */
#include "ops/qlayer.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "cuda/cudnn_plan.h"
#include "cuda/kernels.h"
#include "cuda/qlayer.h"
#include "graph/kernel.h"
#include "ops/conv2d.h"
#include "ops/image.h"
#include "ops/qchain.h"
#include "ops/quantize.h"

enum { CHANNELS = 16, ALIGN = 256, PARTS = 16 };

struct qlayer_state {
    struct cudnn_plan *plan;
    struct cudnn *cudnn;
    struct cudnn_pack pack[PARTS];
    int parts; /* equal parts of the images */
    struct qlayer_weights weights;
    struct qlayer_axis h, w;
    int64_t rows, pixels; /* rows of the result and pixels of x, per part */
    size_t sums, copy;    /* offsets in the workspace */
    bool copied, offset;
    struct qchain_slots chain;
    int weight_scale, input_scale, bias; /* indices of reads; bias may be -1 */
};

static size_t aligned(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static int64_t filled_up(int64_t channels)
{
    return (channels + CHANNELS - 1) / CHANNELS * CHANNELS;
}

/* ---- geometry ---- */

static void conv_sizes(struct qlayer_state *st, const struct node *n)
{
    const struct conv2d_attrs *a = n->attrs;
    const struct tensor *x = n->in[QLAYER_X], *y = n->out[0];

    st->h = (struct qlayer_axis){
        (int)x->dim[IMAGE_H], (int)y->dim[IMAGE_H], a->kernel_h, a->stride_h, a->pad_h,
        a->dilation_h};
    st->w = (struct qlayer_axis){
        (int)x->dim[IMAGE_W], (int)y->dim[IMAGE_W], a->kernel_w, a->stride_w, a->pad_w,
        a->dilation_w};
}

/* Returns the smallest number of parts whose sums fit half of the L2 cache, at most PARTS. */
static int parts_of(const struct device *dev, int64_t images, size_t sums)
{
    int best = 1;

    for (int n = 1; n <= PARTS && sums / (size_t)best > dev->what.l2 / 2; n++)
        if (images % n == 0)
            best = n;
    return best;
}

static void sizes(struct qlayer_state *st, const struct device *dev, const struct node *n)
{
    const struct tensor *x = n->in[QLAYER_X], *y = n->out[0];
    int64_t in = tensor_channels(x), out = tensor_channels(y);
    int64_t rows = tensor_len(y) / out;

    st->h = st->w = (struct qlayer_axis){1, 1, 1, 1, 0, 1};
    if (n->op == &op_qconv2d)
        conv_sizes(st, n);
    st->parts = parts_of(dev, rows / st->h.out / st->w.out,
                         (size_t)(rows * filled_up(out)) * sizeof(int32_t));
    st->rows = rows / st->parts;
    st->pixels = tensor_len(x) / in / st->parts;
    st->weights = (struct qlayer_weights){
        .filters = out,
        .wide = filled_up(out),
        .taps = (int64_t)st->h.taps * st->w.taps,
        .channels = in,
        .stored = filled_up(in),
    };
    st->offset = qlayer_is_unsigned(n);
    st->copied = st->offset || st->weights.stored != in;
}

/* `fused`: an identity follows the convolution and copies the sums. */
static void make_graph(const struct qlayer_state *st, struct cudnn_graph *g, bool fused)
{
    int64_t images = st->pixels / st->h.in / st->w.in;
    const struct cudnn_geometry geo = {.pad = {st->h.pad, st->w.pad},
                                       .stride = {st->h.stride, st->w.stride},
                                       .dilation = {st->h.dilation, st->w.dilation}};
    const int64_t x[] = {images, st->weights.stored, st->h.in, st->w.in};
    const int64_t w[] = {st->weights.wide, st->weights.stored, st->h.taps, st->w.taps};
    const int64_t y[] = {images, st->weights.wide, st->h.out, st->w.out};
    int a, b, sums, copy;

    *g = (struct cudnn_graph){0};
    a = cudnn_graph_stored(g, x, DTYPE_U8);
    b = cudnn_graph_stored(g, w, DTYPE_U8);
    sums = cudnn_graph_stored(g, y, DTYPE_I32);
    cudnn_graph_conv(g, CUDNN_CONV, &geo, a, b, sums);
    if (!fused)
        return;
    copy = cudnn_graph_pointwise(g, CUDNN_IDENTITY, sums, -1, 0);
    g->tensor[copy].dtype = DTYPE_I32;
    g->tensor[copy].real = true;
    g->tensor[sums].real = false;
}

/* cuDNN's tensor-core engines write sums only after another operation. */
static struct cudnn_plan *find_plan(const struct qlayer_state *st)
{
    struct cudnn_graph g;
    struct cudnn_plan *plan;

    make_graph(st, &g, true);
    plan = cudnn_plan_get(st->cudnn, &g);
    if (!plan->why)
        return plan;
    make_graph(st, &g, false);
    return cudnn_plan_get(st->cudnn, &g);
}

/* ---- computed from the weights ---- */

struct pack_state {
    struct device *dev;
    struct qlayer_weights weights;
    int rows, columns;
};

static void pack_weights(void *dst, void *const *src, void *state)
{
    const struct pack_state *st = state;

    cuda_qlayer_weights(st->dev, dst, src[0], &st->weights);
}

static void pack_offsets(void *dst, void *const *src, void *state)
{
    const struct pack_state *st = state;

    cuda_qlayer_offsets(st->dev, dst, src[0], st->rows, st->columns, st->weights.filters,
                        st->weights.channels);
}

static void derive(struct region *r, struct device *dev, const struct qlayer_state *st,
                   struct tensor *w, size_t size,
                   void (*pack)(void *, void *const *, void *))
{
    struct pack_state *p = xcalloc(1, sizeof(*p));

    *p = (struct pack_state){dev, st->weights, st->h.taps, st->w.taps};
    (void)region_derive(r, &(const struct derive){
                               .size = size,
                               .source = {w},
                               .nsource = 1,
                               .key = &p->weights,
                               .key_len = sizeof(p->weights),
                               .pack = pack,
                               .state = p,
                               .release = free,
                           });
}

static void derive_all(struct region *r, struct device *dev,
                       const struct qlayer_state *st, struct tensor *w)
{
    const struct qlayer_weights *q = &st->weights;
    int64_t corners = (int64_t)(st->h.taps + 1) * (st->w.taps + 1);

    derive(r, dev, st, w, (size_t)(q->wide * q->taps * q->stored), pack_weights);
    if (st->offset)
        derive(r, dev, st, w, (size_t)(corners * q->filters) * sizeof(int32_t),
               pack_offsets);
}

/* ---- the claim ---- */

static const char *decline(const struct qchain *c)
{
    const struct node *n = c->layer;
    const char *why = qchain_decline(c);

    if (why)
        return why;
    if (n->op == &op_qconv2d && ((const struct conv2d_attrs *)n->attrs)->groups > 1)
        return "a convolution with groups";
    if (n->op == &op_qconv2d && (((const struct conv2d_attrs *)n->attrs)->extra_h ||
                                 ((const struct conv2d_attrs *)n->attrs)->extra_w))
        return "a convolution with padding that is wider at the end";
    return NULL;
}

static void claim_nodes(struct region *r, struct graph *g, const struct qchain *c,
                        struct qlayer_state *st)
{
    const struct node *n = c->layer;

    qchain_claim(r, c);
    (void)region_read(r, n->in[QLAYER_X]);
    st->weight_scale = region_read(r, n->in[QLAYER_WEIGHT_SCALE]);
    st->input_scale = region_read(r, n->in[QLAYER_INPUT_SCALE]);
    st->bias = n->nin > QLAYER_BIAS ? region_read(r, n->in[QLAYER_BIAS]) : -1;
    st->chain = qchain_slots(r, g, c);
}

/* Places the plan's own workspace, the sums, and the copy of the bytes. */
static void set_workspace(struct region *r, struct qlayer_state *st)
{
    size_t sums = (size_t)(st->rows * st->weights.wide) * sizeof(int32_t);
    size_t bytes = st->copied ? (size_t)(st->pixels * st->weights.stored) : 0;

    st->sums = aligned(st->plan->workspace);
    st->copy = st->sums + aligned(sums);
    region_workspace(r, st->copy + bytes);
}

static const char *qlayer_claim(struct region *r, struct graph *g, struct node *n,
                                struct device *dev)
{
    struct qlayer_state *st = region_state(r);
    struct qchain c;
    const char *why;

    if (!qchain_find(&c, g, n))
        return "no layer in 8 bits, nor what may follow one";
    why = decline(&c);
    if (why)
        return why;
    sizes(st, dev, c.layer);
    if (st->rows >= INT32_MAX)
        return "at most 2^31 positions per part of the images";
    st->cudnn = cudnn_open(dev);
    st->plan = find_plan(st);
    if (st->plan->why)
        return st->plan->why;
    claim_nodes(r, g, &c, st);
    derive_all(r, dev, st, c.layer->in[QLAYER_WEIGHT]);
    set_workspace(r, st);
    return NULL;
}

/* ---- running ---- */

/* Float `pos` of a read, element `pos` of a write; returns NULL if it is absent. */
static const void *read_at(const struct step *s, int i, int64_t pos)
{
    return i >= 0 ? (const float *)s->in[i] + pos : NULL;
}

static void *write_at(const struct step *s, int i, int64_t pos, size_t size)
{
    return i >= 0 ? (char *)s->out[i] + (size_t)pos * size : NULL;
}

static void finish_sums(struct step *s, struct device *dev, int part)
{
    const struct qlayer_state *st = s->state;
    int64_t pos = part * st->rows * st->weights.filters;

    cuda_qlayer_finish(
        dev, &(const struct qlayer_finish){
                 .sum = (const int32_t *)(const void *)((char *)s->workspace + st->sums),
                 .rows = st->rows,
                 .wide = st->weights.wide,
                 .out = st->weights.filters,
                 .scale = s->in[st->weight_scale],
                 .x_scale = s->in[st->input_scale],
                 .bias = read_at(s, st->bias, 0),
                 .offsets = st->offset ? s->derived[1] : NULL,
                 .h = st->h,
                 .w = st->w,
                 .other = read_at(s, st->chain.add, pos),
                 .relu = st->chain.relu,
                 .floats = write_at(s, st->chain.floats, pos, sizeof(float)),
                 .bytes = write_at(s, st->chain.bytes, pos, 1),
                 .y_scale = read_at(s, st->chain.scale, 0),
                 .is_unsigned = st->chain.is_unsigned,
             });
}

static void run_part(struct step *s, struct device *dev, int part)
{
    struct qlayer_state *st = s->state;
    char *x = (char *)s->in[0] + part * st->pixels * st->weights.channels;
    char *copy = (char *)s->workspace + st->copy;

    if (st->copied) {
        cuda_qlayer_stage(dev, (int8_t *)copy, st->weights.stored, x,
                          st->weights.channels, st->pixels, st->offset);
        x = copy;
    }
    cudnn_plan_run(st->cudnn, st->plan, &st->pack[part],
                   (void *const[]){x, s->derived[0], (char *)s->workspace + st->sums},
                   s->workspace);
    finish_sums(s, dev, part);
}

static void qlayer_run(struct step *s, struct device *dev)
{
    const struct qlayer_state *st = s->state;

    for (int i = 0; i < st->parts; i++)
        run_part(s, dev, i);
}

static void qlayer_release(struct step *s)
{
    struct qlayer_state *st = s->state;

    for (int i = 0; i < st->parts; i++)
        cudnn_pack_release(&st->pack[i]);
}

static void qlayer_describe(const struct step *s, struct strbuf *text)
{
    cudnn_plan_describe(((const struct qlayer_state *)s->state)->plan, text);
}

const struct kernel cuda_qlayer = {
    .name = "cuda qlayer",
    .claim = qlayer_claim,
    .run = qlayer_run,
    .release = qlayer_release,
    .describe = qlayer_describe,
    .state_size = sizeof(struct qlayer_state),
    .tensor_cores = true,
};
