#include "cuda/cudnn_region.h"

#include <string.h>

#include "base/error.h"
#include "cuda/cast.h"
#include "cuda/cudnn_bits.h"
#include "cuda/cudnn_emit.h"
#include "cuda/fold.h"
#include "cuda/pad.h"
#include "cuda/weights.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/batchnorm_parts.h"
#include "ops/cast.h"
#include "ops/conv2d.h"
#include "ops/image.h"

enum { ALIGN = 256 };

static size_t aligned(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* ---- finding the nodes ---- */

/* Returns sole_producer() of t unless t is state or a claimed region reads it. */
static struct node *fusable_producer(const struct graph *g, const struct tensor *t)
{
    return !t->claimed_reads && t->memory == MEMORY_NONE ? sole_producer(g, t, NULL)
                                                         : NULL;
}

/* Returns in [*first, *end) the inputs of a pointwise node that a chain may follow. */
static bool chain_inputs(const struct node *n, int *first, int *end)
{
    *first = 0;
    *end = 1;
    if (is_relu(n) || n->op == &op_cast ||
        relu_bits_are(n, &op_relu_bits, RELU_BITS_CUDNN))
        return true;
    if (n->op == &op_batchnorm_apply)
        return cudnn_fold_of(n) != NULL;
    if (is_relu_grad(n)) {
        *first = ACTIVATION_GRAD_DY;
        *end = ACTIVATION_GRAD_DY + 1;
        return !(relu_limit(n) > 0);
    }
    *end = 2;
    if (relu_bits_are(n, &op_relu_bits_grad, RELU_BITS_CUDNN)) {
        *first = RELU_BITS_GRAD_DY;
        return true;
    }
    return n->op == &op_add && n->nin == 2 && n->in[0] != n->in[1];
}

static bool find_chain(struct cudnn_claim *c, struct node *n, const struct op *core,
                       int depth)
{
    int first, end;

    if (n->op == core) {
        c->node[c->nnode++] = n;
        return true;
    }
    if (depth == 0 || !chain_inputs(n, &first, &end))
        return false;
    for (int i = end; i-- > first;) { /* a residual branch is an add's first input */
        struct node *p = fusable_producer(c->g, n->in[i]);

        if (p && find_chain(c, p, core, depth - 1)) {
            c->node[c->nnode++] = n;
            return true;
        }
    }
    return false;
}

bool cudnn_chain(struct cudnn_claim *c, struct graph *g, struct node *n,
                 struct device *dev, const struct op *core)
{
    *c = (struct cudnn_claim){.g = g, .dev = dev, .bias = -1};
    return find_chain(c, n, core, dev->options.apart ? 0 : CUDNN_NODES - 1);
}

/* ---- claiming ---- */

static void take_operand(const struct cudnn_claim *c, struct region *r, int i, int n)
{
    const struct cudnn_operand *o = &c->operand[i];
    struct cudnn_state *st = region_state(r);
    enum dtype type = c->graph.tensor[i].dtype;

    st->operand[n].source = o->source;
    switch (o->source) {
    case CUDNN_SOURCE_READ:
        st->operand[n].index = region_read(r, o->tensor);
        break;
    case CUDNN_SOURCE_HALF:
        st->operand[n].index = cuda_half_weights(r, c->g, c->dev, type);
        st->operand[n].offset = o->tensor->offset / sizeof(float) * dtype_size(type);
        break;
    case CUDNN_SOURCE_FOLDED_WEIGHTS:
        st->operand[n].index = cuda_fold_weights(
            r, c->dev, o->tensor, c->graph.tensor[i].dim[1], c->fold, type);
        break;
    case CUDNN_SOURCE_FOLDED_BIAS:
        st->operand[n].index = cuda_fold_bias(r, c->dev, c->folded, c->fold, type);
        break;
    case CUDNN_SOURCE_PADDED:
        st->operand[n].index =
            cuda_padded_weights(r, c->dev, o->tensor, c->graph.tensor[i].dim[0],
                                c->graph.tensor[i].dim[1], type);
        break;
    case CUDNN_SOURCE_SCRATCH:
        st->operand[n].offset = aligned(st->plan->workspace);
        st->scratch = type;
        st->stored = c->stored;
        region_workspace(r, st->operand[n].offset + cudnn_graph_bytes(&c->graph, i));
        st->operand[n].index = region_write(r, o->tensor);
        break;
    case CUDNN_SOURCE_WRITE:
        st->operand[n].index = region_write(r, o->tensor);
        break;
    case CUDNN_SOURCE_ZERO:
    case CUDNN_SOURCE_NONE:
        break;
    }
}

void cudnn_claim_take(struct cudnn_claim *c, struct region *r, struct cudnn_plan *plan)
{
    struct cudnn_state *st = region_state(r);
    int n = 0;

    st->plan = plan;
    st->cudnn = c->dev->cudnn;
    for (int i = c->nnode; i-- > 0;)
        region_claim(r, c->node[i]);
    if (c->cast)
        region_duplicate(r, c->cast);
    if (c->fold)
        region_duplicate(r, c->fold);
    if (c->slice)
        region_duplicate(r, c->slice);
    for (int i = 0; i < c->graph.ntensor; i++)
        if (c->graph.tensor[i].real)
            take_operand(c, r, i, n++);
    st->bias_after = c->bias_after ? region_read(r, c->bias_after) : -1;
    region_workspace(r, plan->workspace);
}

struct cudnn_plan *cudnn_claim_plan(struct cudnn_claim *c)
{
    cudnn_emit(c);
    cudnn_graph_undilate(&c->graph);
    return cudnn_plan_get(cudnn_open(c->dev), &c->graph);
}

/* Claims the same nodes with other settings. */
static struct cudnn_plan *retry_plan(struct cudnn_claim *c, bool bias_apart, bool plain)
{
    struct cudnn_claim next = {.g = c->g,
                               .dev = c->dev,
                               .nnode = c->nnode,
                               .bias = -1,
                               .bias_apart = bias_apart,
                               .plain = plain,
                               .bits = c->bits};

    memcpy(next.node, c->node, sizeof(next.node));
    *c = next;
    return cudnn_claim_plan(c);
}

/* True for a single layer whose bias no engine fuses: it is added after the plan. */
static bool bias_may_wait(const struct cudnn_claim *c)
{
    const struct node *n = c->node[0];

    return c->nnode == 1 && n->op != &op_conv2d_weight_grad &&
           n->nin > (n->op == &op_conv2d ? CONV2D_BIAS : CONV2D_DATA_GRAD_BIAS);
}

const char *cudnn_claim(struct cudnn_claim *c, struct region *r)
{
    struct cudnn_plan *plan = cudnn_claim_plan(c);

    if (plan->why && cudnn_fills(c))
        return plan->why;
    if (plan->why && bias_may_wait(c))
        plan = retry_plan(c, true, c->plain);
    if (plan->why && (c->joined || c->stored))
        plan = retry_plan(c, c->bias_apart, true);
    if (plan->why)
        return plan->why;
    cudnn_claim_take(c, r, plan);
    return NULL;
}

/* ---- running ---- */

static void *operand(const struct step *s, const struct cudnn_state *st, int i)
{
    static float zero;
    int pos = st->operand[i].index;

    switch (st->operand[i].source) {
    case CUDNN_SOURCE_READ:
        return s->in[pos];
    case CUDNN_SOURCE_WRITE:
        return s->out[pos];
    case CUDNN_SOURCE_HALF:
    case CUDNN_SOURCE_FOLDED_WEIGHTS:
    case CUDNN_SOURCE_FOLDED_BIAS:
    case CUDNN_SOURCE_PADDED:
        return (char *)s->derived[pos] + st->operand[i].offset;
    case CUDNN_SOURCE_SCRATCH:
        return (char *)s->workspace + st->operand[i].offset;
    case CUDNN_SOURCE_ZERO:
        return &zero;
    case CUDNN_SOURCE_NONE:
        break;
    }
    BUG("'%s': operand %d has no source", s->node->layer, i);
}

/* Widens result `pos` from the workspace, where it has 16 bits and maybe more channels. */
static void widen(struct step *s, struct device *dev, int pos, const void *src)
{
    const struct cudnn_state *st = s->state;
    const struct tensor *t = s->out_tensor[pos];

    if (st->stored)
        cuda_cut_channels(dev, s->out[pos], t->dtype, t->dim[1], src, st->scratch,
                          st->stored, tensor_len(t) / t->dim[1]);
    else
        cuda_cast(dev, s->out[pos], t->dtype, src, st->scratch, tensor_len(t));
}

void cudnn_region_run(struct step *s, struct device *dev)
{
    struct cudnn_state *st = s->state;
    void *pointer[CUDNN_TENSORS];

    for (int i = 0; i < st->plan->nuid; i++)
        pointer[i] = operand(s, st, i);
    cudnn_plan_run(st->cudnn, st->plan, &st->pack, pointer, s->workspace);
    for (int i = 0; i < st->plan->nuid; i++)
        if (st->operand[i].source == CUDNN_SOURCE_SCRATCH)
            widen(s, dev, st->operand[i].index, pointer[i]);
    if (st->bias_after >= 0)
        cuda_add_bias(dev, s->out[0], s->out_tensor[0]->dtype, s->in[st->bias_after],
                      tensor_len(s->out_tensor[0]), tensor_channels(s->out_tensor[0]));
}

void cudnn_region_release(struct step *s)
{
    struct cudnn_state *st = s->state;

    cudnn_pack_release(&st->pack);
}

void cudnn_region_describe(const struct step *s, struct strbuf *text)
{
    cudnn_plan_describe(((const struct cudnn_state *)s->state)->plan, text);
}
