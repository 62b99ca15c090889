#include "session/quantized.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/kernel.h"
#include "graph/precision.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/avgpool2d.h"
#include "ops/batchnorm.h"
#include "ops/concat.h"
#include "ops/conv2d.h"
#include "ops/global_avgpool.h"
#include "ops/linear.h"
#include "ops/maxpool2d.h"
#include "ops/pad_shortcut.h"
#include "ops/qlayer.h"
#include "ops/quantize.h"
#include "ops/scale_channels.h"
#include "ops/view.h"

/* ---- selection of layers ---- */

static bool is_layer(const struct node *n)
{
    return (n->op == &op_conv2d || n->op == &op_linear) &&
           n->in[CONV2D_WEIGHT]->kind == TENSOR_PARAM;
}

static bool keeps_float(const struct quantized_choice *c, const char *layer)
{
    for (int i = 0; i < c->nkeep; i++)
        if (precision_layer_matches(c->keep[i], layer))
            return true;
    return false;
}

const char *quantized_keep_unmatched(const struct graph *g,
                                     const struct quantized_choice *c)
{
    for (int i = 0; i < c->nkeep; i++) {
        bool matched = false;

        for (int k = 0; !matched && k < g->nnode; k++)
            matched = is_layer(g->node[k]) &&
                      precision_layer_matches(c->keep[i], g->node[k]->layer);
        if (!matched)
            return c->keep[i];
    }
    return NULL;
}

/* True if t is never negative: always for some ops, depending on the inputs for others. */
static bool not_negative(const struct tensor *t)
{
    static const struct op *const passing[] = {
        &op_maxpool2d,    &op_avgpool2d, &op_global_avgpool, &op_view,
        &op_pad_shortcut, &op_add,       &op_concat,         &op_scale_channels};
    const struct node *n = t->producer;

    if (n && activation_of(n) && activation_of(n)->not_negative)
        return true;
    for (size_t i = 0; n && i < sizeof(passing) / sizeof(*passing); i++) {
        bool all = n->op == passing[i];

        for (int k = 0; all && k < n->nin; k++)
            all = not_negative(n->in[k]);
        if (all)
            return true;
    }
    return false;
}

static const struct node *norm_after(const struct graph *g, const struct node *n)
{
    const struct node *r = tensor_only_reader(g, n->out[0]);

    return n->op == &op_conv2d && r && r->op == &op_batchnorm_inference ? r : NULL;
}

/* Returns the first layer that reads the same tensor. */
static const char *scale_of(const struct quantized_layer *list, int n,
                            const struct node *node)
{
    for (int i = 0; i < n; i++)
        if (list[i].input == node->in[CONV2D_X])
            return list[i].scale_of;
    return node->layer;
}

int quantized_layers(const struct graph *g, const struct tensor *logits,
                     const struct quantized_choice *c, struct quantized_layer **list)
{
    struct quantized_layer *l = NULL;
    int n = 0, cap = 0;
    bool first = true;

    for (int i = 0; i < g->nnode; i++) {
        const struct node *node = g->node[i];
        bool wanted = is_layer(node) && (c->first || !first) &&
                      (c->last || node->out[0] != logits) && !keeps_float(c, node->layer);

        first &= !is_layer(node);
        if (!wanted)
            continue;
        GROW(l, n, cap);
        l[n] = (struct quantized_layer){
            .node = node,
            .bn = norm_after(g, node),
            .input = node->in[CONV2D_X],
            .scale_of = scale_of(l, n, node),
            .is_unsigned = not_negative(node->in[CONV2D_X]),
        };
        n++;
    }
    *list = l;
    return n;
}

/* ---- rewriting the net ---- */

struct rewrite {
    struct builder *b;
    struct tensor **renewed; /* by tensor of the old graph */
    struct tensor **bytes;   /* the same, quantized */
    bool *gone;              /* parameters that the new net does not have */
};

static void drop_weights(struct rewrite *r, const struct quantized_layer *l)
{
    const struct batchnorm_attrs *a = l->bn ? l->bn->attrs : NULL;

    r->gone[l->node->in[CONV2D_WEIGHT]->id] = true;
    if (!l->bn)
        return;
    if (l->node->nin > CONV2D_BIAS)
        r->gone[l->node->in[CONV2D_BIAS]->id] = true;
    for (int i = BATCHNORM_WEIGHT; i < l->bn->nin; i++)
        r->gone[l->bn->in[i]->id] = true;
    r->gone[a->batches->id] = true;
}

/* Copies inputs, and parameters and buffers in order. */
static void copy_leaves(struct rewrite *r, const struct graph *src)
{
    for (int i = 0; i < src->ntensor; i++) {
        const struct tensor *t = src->tensor[i];

        if (t->producer || r->gone[i])
            continue;
        if (t->kind == TENSOR_INPUT)
            r->renewed[i] =
                graph_input(r->b, t->name, t->dtype, t->layout, t->ndim, t->dim);
        else if (t->kind == TENSOR_PARAM)
            r->renewed[i] =
                graph_param(r->b, "", t->name, t->layout, t->ndim, t->dim, t->init);
        else if (t->memory == MEMORY_WEIGHTS)
            r->renewed[i] = graph_buffer(r->b, "", t->name, t->ndim, t->dim, t->init);
    }
}

static struct tensor *bytes_of(struct rewrite *r, const struct quantized_layer *l)
{
    struct tensor **q = &r->bytes[l->input->id], *scale;

    if (*q)
        return *q;
    scale = graph_param(r->b, l->scale_of, QLAYER_INPUT_SCALE_NAME, LAYOUT_PLAIN, 1,
                        (const int64_t[]){1}, (struct init){INIT_CONSTANT, 1});
    return *q = quantize(r->b, r->renewed[l->input->id], scale, l->scale_of,
                         .is_unsigned = l->is_unsigned);
}

static void add_layer(struct rewrite *r, const struct quantized_layer *l)
{
    const struct node *n = l->node;
    const struct tensor *w = n->in[CONV2D_WEIGHT];
    const struct init zero = {INIT_ZERO, 0}, one = {INIT_CONSTANT, 1};
    struct tensor *in[QLAYER_BIAS + 1], *y;
    int nin = l->bn || n->nin > CONV2D_BIAS ? QLAYER_BIAS + 1 : QLAYER_BIAS;

    in[QLAYER_X] = bytes_of(r, l);
    in[QLAYER_INPUT_SCALE] = in[QLAYER_X]->producer->in[QUANTIZE_SCALE];
    in[QLAYER_WEIGHT] =
        graph_param(r->b, n->layer, QLAYER_WEIGHT_NAME, w->layout, w->ndim, w->dim, zero);
    in[QLAYER_WEIGHT_SCALE] = graph_param(r->b, n->layer, QLAYER_WEIGHT_SCALE_NAME,
                                          LAYOUT_PLAIN, 1, w->dim, one);
    if (l->bn)
        in[QLAYER_BIAS] =
            graph_param(r->b, n->layer, "bias", LAYOUT_PLAIN, 1, w->dim, zero);
    else if (n->nin > CONV2D_BIAS)
        in[QLAYER_BIAS] = r->renewed[n->in[CONV2D_BIAS]->id];
    y = n->op == &op_conv2d ? qconv2d_(r->b, n->attrs, in, nin)
                            : qlinear_(r->b, n->attrs, in, nin);
    r->renewed[(l->bn ? l->bn : n)->out[0]->id] = y;
}

static void copy_node(struct rewrite *r, const struct node *n)
{
    struct tensor **in = xcalloc((size_t)n->nin + 1, sizeof(*in));
    const struct node *copy;

    for (int i = 0; i < n->nin; i++)
        in[i] = r->renewed[n->in[i]->id];
    copy = node(r->b, n->op, n->layer, n->attrs, in, n->nin)->producer;
    for (int i = 0; i < n->nout; i++)
        r->renewed[n->out[i]->id] = copy->out[i];
    free(in);
}

void quantized_net(struct builder *b, const struct graph *src,
                   const struct tensor *logits, const struct quantized_choice *c,
                   struct tensor ***map)
{
    size_t n = (size_t)src->ntensor;
    struct rewrite r = {.b = b,
                        .renewed = xcalloc(n, sizeof(struct tensor *)),
                        .bytes = xcalloc(n, sizeof(struct tensor *)),
                        .gone = xcalloc(n, sizeof(bool))};
    struct quantized_layer *list;
    int layers = quantized_layers(src, logits, c, &list), pos = 0;

    for (int i = 0; i < layers; i++)
        drop_weights(&r, &list[i]);
    copy_leaves(&r, src);
    for (int i = 0; i < src->nnode; i++) {
        const struct node *node = src->node[i];

        if (pos < layers && list[pos].node == node)
            add_layer(&r, &list[pos++]);
        else if (!r.renewed[node->out[0]->id]) /* else a folded batch norm */
            copy_node(&r, node);
    }
    *map = r.renewed;
    free(r.bytes);
    free(r.gone);
    free(list);
}
