/*
 * Attention over whole images (ViT) and its gradient by cuDNN's fused engines.
 * cuda/cudnn_attention.h describes the graphs and names the parts of the workspace.
 *
 * lse always has the op's layout: log of the sums, [images][tokens][heads]. So different
 * kernels may claim the forward pass and the gradient, for example if an engine refuses
 * one of them or a gradient is refused below. cuDNN's gradient reads y, unlike our own
 * kernel's; y is kept anyway, for the weight gradient of the next layer.
 *
 * Known defects of cuDNN, from NVIDIA's cudnn-frontend and Transformer Engine, that are
 * refused or avoided here (cuDNN itself reports anything else that a version lacks):
 *   9.10.0, 9.10.1  wrong results; older versions want the sums of dq zeroed, and more masks
 *   up to 9.15.0    a gradient without padding whose number of tokens is not a multiple of
 *                   128 may be NaN (cudnn-frontend, issue 160); a padding mask that masks
 *                   nothing avoids it
 *   all so far      with 64 tokens in the last 128, a query whose scores are all below -88
 *                   makes dq NaN (cudnn-frontend, pull request 628)
 *   9.13 to 9.15    illegal reads in CUDA graphs beyond 1,024 tokens
 *   Blackwell       summing dq in a fixed order needs knobs that the heuristic does not set
 */
#include "base/strbuf.h"
#include "cuda/attention_lse.h"
#include "cuda/cudnn_attention.h"
#include "cuda/cudnn_lib.h"
#include "cuda/cudnn_plan.h"
#include "cuda/kernels.h"
#include "ops/window_attention.h"

enum { ALIGN = 256, HEAD = 128, MEMORY = CUDNN_ATTENTION_PARTS };
enum { OLDEST = 91002, UNMASKED_SINCE = 91501, GRAPHS_FROM = 91300, GRAPHS_TO = 91500 };

struct state {
    struct cudnn_plan *plan;
    struct cudnn *cudnn;
    struct cudnn_pack pack;
    enum cudnn_attention_part part[CUDNN_TENSORS];
    size_t offset[MEMORY]; /* byte offset of a part within its array */
    bool has[MEMORY];      /* workspace parts that exist */
    int y;                 /* index of a read, in a gradient */
    struct attention_lse lse;
};

/* Returns why cuDNN is not used for either op, or NULL if it may be. x: y or dy. */
static const char *refuses(const struct node *n, const struct tensor *x,
                           const struct device *dev)
{
    const struct window_attention_attrs *a = n->attrs;
    const struct tensor *qkv = n->in[0];
    struct window_attention_size s = window_attention_size(n);

    if (!dtype_is_half(qkv->dtype) || x->dtype != qkv->dtype)
        return "cuDNN's attention wants 16-bit types, the same for qkv and the result";
    if (window_attention_slot(n, WINDOW_ATTENTION_CONTROL) >= 0)
        return "cuDNN's dropout has another mask";
    if (a->has)
        return "cuDNN's attention has no table of offsets, nor norms or padding";
    if (s.tokens != s.pixels || s.windows != 1 || a->shift_h || a->shift_w)
        return "cuDNN's attention has no windows";
    if (s.head % 8 || s.head > HEAD)
        return "cuDNN's attention wants heads of 8 to 128 features, a multiple of 8";
    if (s.tokens == 1)
        return "cuDNN's attention wants more than one token";
    if (tensor_len(qkv) > INT32_MAX)
        return "cuDNN's attention wants less than 2^31 elements";
    return dev->options.apart ? "CUDNN.FUSE False" : NULL;
}

static const char *version_refuses(const struct cudnn *c, int64_t tokens)
{
    if (c->version < OLDEST)
        return "cuDNN's attention is right from 9.10.2 on";
    if (c->version >= GRAPHS_FROM && c->version < GRAPHS_TO && tokens > 1024)
        return "cuDNN 9.13 and 9.14 fail beyond 1024 tokens";
    return NULL;
}

static const char *gradient_refuses(const struct device *dev, int64_t tokens)
{
    if (tokens % 128 == 64)
        return "cuDNN's gradient of 64 tokens more than a multiple of 128 may be NaN";
    if (dev->options.deterministic && dev->what.compute >= 1000)
        return "cuDNN's gradient is not deterministic on this GPU";
    return NULL;
}

static struct cudnn_attention attention_of(const struct node *n)
{
    struct window_attention_size s = window_attention_size(n);

    return (struct cudnn_attention){
        .images = s.images,
        .heads = s.heads,
        .tokens = s.tokens,
        .head = s.head,
        .type = n->in[0]->dtype,
        .scale = ((const struct window_attention_attrs *)n->attrs)->scale,
    };
}

static size_t aligned(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* Sets the offsets of q, k, v in qkv and of the workspace parts after the plan's own. */
static size_t place_parts(struct state *st, const struct cudnn_attention *a)
{
    size_t bytes = aligned(st->plan->workspace);
    size_t third = (size_t)(a->heads * a->head) * dtype_size(a->type);

    st->offset[CUDNN_ATTENTION_K] = st->offset[CUDNN_ATTENTION_DK] = third;
    st->offset[CUDNN_ATTENTION_V] = st->offset[CUDNN_ATTENTION_DV] = 2 * third;
    for (int i = 0; i < st->plan->graph.ntensor; i++) {
        enum cudnn_attention_part p = st->part[i];

        if (p < CUDNN_ATTENTION_LSE || st->has[p])
            continue;
        st->has[p] = true;
        st->offset[p] = bytes;
        bytes += aligned(cudnn_graph_bytes(&st->plan->graph, i));
    }
    return bytes;
}

/* Returns NULL, or why there is no plan. Sets up the state except for reads and writes. */
static const char *plan_for(struct region *r, struct device *dev,
                            const struct cudnn_attention *a, bool gradient)
{
    struct state *st = region_state(r);
    struct cudnn_graph g = {0};
    enum cudnn_attention_part part[CUDNN_TENSORS] = {0};

    if (gradient)
        cudnn_attention_gradient(a, &g, part);
    else
        cudnn_attention_forward(a, &g, part);
    st->cudnn = dev->cudnn;
    st->plan = cudnn_plan_get(st->cudnn, &g);
    if (st->plan->why)
        return st->plan->why;
    for (int i = 0; i < g.ntensor; i++)
        st->part[i] = part[i];
    st->lse = (struct attention_lse){a->images, a->heads, a->tokens};
    return NULL;
}

static const char *forward_claim(struct region *r, struct graph *g, struct node *n,
                                 struct device *dev)
{
    struct cudnn_attention a;
    const char *why;

    (void)g;
    if (n->op != &op_window_attention)
        return "no attention";
    why = refuses(n, n->out[WINDOW_ATTENTION_Y], dev);
    if (why)
        return why;
    a = attention_of(n);
    why = version_refuses(cudnn_open(dev), a.tokens);
    why = why ? why : plan_for(r, dev, &a, false);
    if (why)
        return why;
    region_claim_node(r, n);
    region_workspace(r, place_parts(region_state(r), &a));
    return NULL;
}

static const char *gradient_claim(struct region *r, struct graph *g, struct node *n,
                                  struct device *dev)
{
    struct state *st = region_state(r);
    struct node *forward;
    struct cudnn_attention a;
    const char *why;

    (void)g;
    if (n->op != &op_window_attention_grad)
        return "no gradient of attention";
    forward = n->in[WINDOW_ATTENTION_GRAD_LSE]->producer;
    why = refuses(n, n->in[WINDOW_ATTENTION_GRAD_DY], dev);
    if (why)
        return why;
    if (!forward || forward->op != &op_window_attention ||
        forward->out[WINDOW_ATTENTION_Y]->dtype != n->in[0]->dtype)
        return "cuDNN's gradient wants the result of the forward pass";
    a = attention_of(n);
    why = gradient_refuses(dev, a.tokens);
    why = why ? why : version_refuses(cudnn_open(dev), a.tokens);
    if (why)
        return why;
    a.in_order = dev->options.deterministic;
    a.masked = dev->cudnn->version < UNMASKED_SINCE && a.tokens % 128;
    why = plan_for(r, dev, &a, true);
    if (why)
        return why;
    region_claim_node(r, n);
    st->y = region_read(r, forward->out[WINDOW_ATTENTION_Y]);
    region_workspace(r, place_parts(st, &a));
    return NULL;
}

/* ---- running ---- */

static char *part_of(const struct step *s, const struct state *st,
                     enum cudnn_attention_part part)
{
    bool gradient = s->node->op == &op_window_attention_grad;
    char *cursor = s->workspace;

    if (part <= CUDNN_ATTENTION_V)
        cursor = s->in[0];
    else if (part == CUDNN_ATTENTION_Y)
        cursor = gradient ? s->in[st->y] : s->out[WINDOW_ATTENTION_Y];
    else if (part == CUDNN_ATTENTION_DY)
        cursor = s->in[WINDOW_ATTENTION_GRAD_DY];
    else if (part <= CUDNN_ATTENTION_DV)
        cursor = s->out[WINDOW_ATTENTION_GRAD_DQKV];
    return cursor + st->offset[part];
}

static void run_plan(struct step *s)
{
    struct state *st = s->state;
    struct cudnn_plan *p = st->plan;
    void *pointer[CUDNN_TENSORS];

    for (int i = 0; i < p->nuid; i++) {
        int t = (int)p->uid[i] - 1;

        pointer[i] = st->part[t] == CUDNN_ATTENTION_VALUE
                         ? (void *)&p->graph.tensor[t].value
                         : part_of(s, st, st->part[t]);
    }
    cudnn_plan_run(st->cudnn, p, &st->pack, pointer, s->workspace);
}

static void forward_run(struct step *s, struct device *dev)
{
    struct state *st = s->state;

    run_plan(s);
    if (s->out[WINDOW_ATTENTION_LSE])
        cuda_lse_by_token(dev, &st->lse, part_of(s, st, CUDNN_ATTENTION_LSE),
                          s->out[WINDOW_ATTENTION_LSE]);
}

static void gradient_run(struct step *s, struct device *dev)
{
    struct state *st = s->state;

    cuda_lse_by_head(dev, &st->lse, s->in[WINDOW_ATTENTION_GRAD_LSE],
                     part_of(s, st, CUDNN_ATTENTION_LSE),
                     st->has[CUDNN_ATTENTION_LENGTHS]
                         ? part_of(s, st, CUDNN_ATTENTION_LENGTHS)
                         : NULL);
    run_plan(s);
}

static void release(struct step *s)
{
    struct state *st = s->state;

    cudnn_pack_release(&st->pack);
}

static void describe(const struct step *s, struct strbuf *text)
{
    const struct state *st = s->state;

    cudnn_plan_describe(st->plan, text);
    if (st->has[CUDNN_ATTENTION_DQ_SUM])
        strbuf_addstr(text, ", dq summed in any order");
    if (st->has[CUDNN_ATTENTION_LENGTHS])
        strbuf_addstr(text, ", masked");
}

const struct kernel cuda_attention_cudnn = {
    .name = "cuda attention cudnn",
    .claim = forward_claim,
    .run = forward_run,
    .release = release,
    .describe = describe,
    .state_size = sizeof(struct state),
    .tensor_cores = true,
};

const struct kernel cuda_attention_cudnn_grad = {
    .name = "cuda attention_grad cudnn",
    .claim = gradient_claim,
    .run = gradient_run,
    .release = release,
    .describe = describe,
    .state_size = sizeof(struct state),
    .tensor_cores = true,
};
