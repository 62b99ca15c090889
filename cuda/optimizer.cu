/*
 * The optimizers, fused with the EMA and the 16-bit copy of the weights in one pass over
 * the flat arrays; and the EMA without an optimizer. The formulas are in
 * ops/optimizer_list.h.
 *
 * Bytes per element, read and written: gradient 4 (2 if it has 16 bits, see
 * ops/half_grads.h), weight 8, each moment 8, EMA 8, 16-bit copy 2: 30 with one moment, 38
 * with two. Nothing is reset here: each backward pass overwrites the gradients, and the
 * first batch of an update overwrites their sum.
 *
 * The host cuts the arrays into pieces of one segment each, or of ranges with an EMA only
 * (buffers, frozen parameters, gaps); a block processes one piece. One thread computes
 * the rule of a segment (rate, decay, bias correction: fp64) once per update.
 *
 * If an optimizer has trust ratios, a pass over the pieces that reads the same arrays
 * stores two sums of squares per piece, and a block per segment adds them in a fixed
 * order.
 *
 * The EMA joins the region if no node between it and the optimizer needs the optimizer's
 * output. The region then runs at the EMA's position, after the running statistics,
 * because these have an EMA, too.
 */
#include "ops/optimizer.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"

#include "cuda/channels.h"
#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/optimizer_kernels.h"
#include "cuda/table.h"
#include "cuda/weights.h"
#include "graph/flat.h"
#include "graph/kernel.h"
#include "ops/cast.h"
#include "ops/ema.h"
#include "ops/half_grads.h"

/* A formula: how it runs, the size of a rule, whether there are trust ratios. */
struct optimizer_kind {
    const struct op *op;
    void (*run)(struct step *s, struct device *dev);
    size_t rule;
    bool trusts;
};

static const struct optimizer_kind *kind_of(const struct op *op);

struct optimizer_state {
    const struct node *update, *ema; /* either may be NULL */
    const struct optimizer_kind *kind;
    enum dtype half;
    bool copies; /* a 16-bit copy may be written */
    int pieces;  /* blocks */
    int write_ema, derived_pieces, derived_segments, derived_ranges, derived_half;
    size_t sums; /* workspace offset of the pieces' sums, after the rules */
};

/* ---- claims ---- */

static bool overlap(const struct tensor *a, const struct tensor *b)
{
    return a->memory == b->memory && a->offset < b->offset + tensor_size(b) &&
           b->offset < a->offset + tensor_size(a);
}

/* True if `n` may run before `other` as well as after it. */
static bool independent(const struct node *n, const struct node *other)
{
    for (int i = 0; i < n->nout; i++) {
        for (int k = 0; k < other->nin; k++)
            if (overlap(n->out[i], other->in[k]))
                return false;
        for (int k = 0; k < other->nout; k++)
            if (overlap(n->out[i], other->out[k]))
                return false;
    }
    for (int i = 0; i < n->nin; i++)
        for (int k = 0; k < other->nout; k++)
            if (overlap(n->in[i], other->out[k]))
                return false;
    return true;
}

/* Returns the optimizer whose weights `ema` averages if it can run at the EMA's position,
 * or NULL. */
static struct node *find_optimizer(const struct graph *g, const struct node *ema)
{
    const struct tensor *all = ema->in[EMA_WEIGHTS];

    for (int i = ema->index; i-- > 0;) {
        struct node *n = g->node[i];
        const struct tensor *w = n->nout ? n->out[UPDATE_WEIGHTS] : nullptr;

        if (!optimizer_attrs(n))
            continue;
        if (w->memory != all->memory || w->offset != all->offset ||
            tensor_size(w) > tensor_size(all) || !node_free(n))
            return nullptr;
        for (int k = i + 1; k < ema->index; k++)
            if (!independent(n, g->node[k]))
                return nullptr;
        return n;
    }
    return nullptr;
}

/* Finds the 16-bit type of the parameters' casts; returns false if there is none. */
static bool find_half(const struct graph *g, enum dtype *half)
{
    const struct node *n;

    for (int i = 0; i < g->flat->nparam; i++)
        for (int k = 0; (n = tensor_reader(g, g->flat->segment[i].tensor, k)) != nullptr;
             k++)
            if (n->op == &op_cast && dtype_is_half(n->out[0]->dtype)) {
                *half = n->out[0]->dtype;
                return true;
            }
    return false;
}

/* ---- pieces ---- */

struct pieces {
    struct piece *item;
    int n, cap;
    struct range *range;   /* per segment, or NULL */
    const struct graph *g; /* with packed gradients, or NULL */
};

static void cut_pieces(struct pieces *p, int64_t pos, int64_t end, int segment)
{
    struct half_grads_place grad = {DTYPE_F32, pos, 0};

    if (p->g && segment >= 0)
        grad = half_grads_find(p->g, pos);
    while (pos < end) {
        int len = end - pos < PIECE ? (int)(end - pos) : (int)PIECE;

        if (p->n == p->cap) {
            p->cap = p->cap ? 2 * p->cap : 64;
            p->item =
                (struct piece *)xrealloc(p->item, (size_t)p->cap * sizeof(*p->item));
        }
        p->item[p->n++] = {pos, grad.first, len, segment, grad.dtype != DTYPE_F32};
        pos += len;
        grad.first += len;
    }
}

/* Returns NULL if the region has only the EMA. */
static const struct update *update_of(const struct optimizer_state *st)
{
    return st->update ? &optimizer_attrs(st->update)->update : nullptr;
}

/* Cuts all segments of the update, and the ranges between and after them that have an EMA
 * only. */
static void cut_all(struct pieces *p, const struct optimizer_state *st)
{
    const struct update *u = update_of(st);
    int64_t pos = 0, end = st->ema ? tensor_len(st->ema->out[0]) : 0;

    for (int i = 0; u && i < u->nsegment; i++) {
        const struct update_segment *s = &u->segment[i];

        if (st->ema)
            cut_pieces(p, pos, s->offset, -1);
        pos = s->offset + s->len;
        if (p->range)
            p->range[i].first = p->n;
        cut_pieces(p, s->offset, pos, i);
        if (p->range)
            p->range[i].n = p->n - p->range[i].first;
    }
    cut_pieces(p, pos, end, -1);
}

static int table(struct region *r, struct device *dev, const void *item, int n,
                 size_t size)
{
    return n ? cuda_table(r, dev, item, (size_t)n * size) : 0;
}

static bool is_packed(const struct optimizer_state *st)
{
    return st->update && half_grads_packed(st->update->in[UPDATE_GRADS]);
}

static void make_tables(struct region *r, struct optimizer_state *st,
                        const struct graph *g, struct device *dev)
{
    const struct update *u = update_of(st);
    struct pieces p = {nullptr, 0, 0, nullptr, is_packed(st) ? g : nullptr};
    int segments = u ? u->nsegment : 0;

    if (st->kind->trusts)
        p.range = (struct range *)xcalloc((size_t)segments + 1, sizeof(*p.range));
    cut_all(&p, st);
    st->pieces = p.n;
    st->derived_pieces = table(r, dev, p.item, p.n, sizeof(*p.item));
    if (u)
        st->derived_segments = table(r, dev, u->segment, segments, sizeof(*u->segment));
    if (p.range)
        st->derived_ranges = table(r, dev, p.range, segments, sizeof(*p.range));
    st->sums = ((size_t)segments * st->kind->rule + 15) / 16 * 16;
    if (segments)
        region_workspace(
            r, st->sums + (st->kind->trusts ? (size_t)p.n * 2 * sizeof(double) : 0));
    free(p.item);
    free(p.range);
}

static bool aligned(const struct node *n)
{
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->offset % 16)
            return false;
    for (int i = 0; i < n->nout; i++)
        if (n->out[i]->offset % 16)
            return false;
    return true;
}

static void claim_node(struct region *r, struct node *n)
{
    region_claim_node(r, n);
}

static_assert((int)EMA_CONTROL == (int)UPDATE_CONTROL, "one place for the control");

/* False for one GPU's share of the weights: all_gather brings the others later, and the
 * copies are packed after both. */
static bool updates_all(const struct graph *g, const struct node *update)
{
    return tensor_len(update->out[UPDATE_WEIGHTS]) == g->flat->trained_len;
}

static const char *optimizer_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *dev)
{
    struct optimizer_state *st = (struct optimizer_state *)region_state(r);
    struct node *update = n;

    if (!optimizer_attrs(n) && n->op != &op_ema)
        return "neither an optimizer nor an EMA";
    if (n->op == &op_ema)
        update = find_optimizer(g, n);
    if ((update && !aligned(update)) || !aligned(n))
        return "an array starts inside of 16 bytes";

    st->update = update;
    st->kind = kind_of(update ? update->op : nullptr);
    st->ema = n->op == &op_ema ? n : nullptr;
    if (update)
        claim_node(r, update);
    st->write_ema = update ? update->nout : 0;
    if (st->ema)
        claim_node(r, n);
    make_tables(r, st, g, dev);
    if (is_packed(st))
        st->half = half_grads_dtype(g);
    st->copies = update && updates_all(g, update) && find_half(g, &st->half);
    if (st->copies)
        st->derived_half = cuda_half_weights_written(r, g, dev, st->half);
    return nullptr;
}

/* ---- running ---- */

template <class H> static flat_arrays<H> arrays_of(const struct step *s)
{
    const struct optimizer_state *st = (const struct optimizer_state *)s->state;
    flat_arrays<H> a = {};
    int moments = st->update ? st->update->nout - UPDATE_MOMENT1 : 0;

    a.w = (float *)(st->update ? s->out[UPDATE_WEIGHTS] : s->in[EMA_WEIGHTS]);
    a.g = st->update ? s->in[UPDATE_GRADS] : nullptr;
    a.m1 = moments > 0 ? (float *)s->out[UPDATE_MOMENT1] : nullptr;
    a.m2 = moments > 1 ? (float *)s->out[UPDATE_MOMENT2] : nullptr;
    a.ema = st->ema ? (float *)s->out[st->write_ema] : nullptr;
    a.half = st->copies ? (H *)s->derived[st->derived_half] : nullptr;
    return a;
}

/* Computes the rules of all segments, with trust ratios if the optimizer has them. */
template <class K, class H>
static void rules_run(struct step *s, struct device *dev, typename K::rule *rules)
{
    const struct optimizer_state *st = (const struct optimizer_state *)s->state;
    const struct control *c = (const struct control *)s->in[UPDATE_CONTROL];
    const struct optimizer_attrs &o = *optimizer_attrs(st->update);
    int n = o.update.nsegment;
    const update_segment *segment =
        (const update_segment *)s->derived[st->derived_segments];

    LAUNCH(dev, optimizer_rules<K>, cuda_blocks(n, RULES_BLOCK, 1), RULES_BLOCK, 0, o,
           segment, n, c, rules);
    if constexpr (K::trusts) {
        double *sums = (double *)((char *)s->workspace + st->sums);

        LAUNCH(dev, (optimizer_measure<K, H>), (unsigned)st->pieces, BLOCK, 0,
               arrays_of<H>(s), (const piece *)s->derived[st->derived_pieces], o, segment,
               (const typename K::rule *)rules, c, sums);
        LAUNCH(dev, optimizer_trust<K>, (unsigned)n, TRUST_BLOCK, 0, o, segment,
               (const range *)s->derived[st->derived_ranges], c, (const double *)sums,
               rules);
    }
}

template <class K, class H> static void arrays_run(struct step *s, struct device *dev)
{
    const struct optimizer_state *st = (const struct optimizer_state *)s->state;
    typename K::rule *rules = (typename K::rule *)s->workspace;

    if (!st->pieces)
        return;
    if (st->update && update_of(st)->nsegment)
        rules_run<K, H>(s, dev, rules);
    LAUNCH(dev, (optimizer_update<K, H>), (unsigned)st->pieces, BLOCK, 0, arrays_of<H>(s),
           (const piece *)s->derived[st->derived_pieces], (const typename K::rule *)rules,
           (const struct control *)s->in[UPDATE_CONTROL]);
}

template <class K> static void update_run(struct step *s, struct device *dev)
{
    const struct optimizer_state *st = (const struct optimizer_state *)s->state;

    if (st->half == DTYPE_BF16)
        arrays_run<K, bf16>(s, dev);
    else
        arrays_run<K, f16>(s, dev);
}

#define KIND_ROW(NAME)                                                                   \
    {&op_##NAME, update_run<NAME##_kind>, sizeof(NAME##_kind::rule), NAME##_kind::trusts},
static const struct optimizer_kind kinds[] = {
    OPTIMIZER_LIST(KIND_ROW, KIND_ROW){nullptr, update_run<no_kind>, 0, false}};

static const struct optimizer_kind *kind_of(const struct op *op)
{
    const struct optimizer_kind *k = kinds;

    while (k->op && k->op != op)
        k++;
    return k;
}

static void optimizer_run(struct step *s, struct device *dev)
{
    ((const struct optimizer_state *)s->state)->kind->run(s, dev);
}

extern const struct kernel cuda_optimizer = {
    .name = "cuda optimizer",
    .claim = optimizer_claim,
    .run = optimizer_run,
    .state_size = sizeof(struct optimizer_state),
};
