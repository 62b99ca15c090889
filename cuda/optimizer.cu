/*
 * The optimizers, with the EMA and the half copy of the weights, in one pass over the
 * flat arrays; and the EMA alone. The formulas are those of ops/optimizer_list.h.
 *
 * Bytes of an element: gradient 4, weight 8, each moment 8, EMA 8, half copy 2: 30 with
 * one moment, 38 with two. Nothing is reset here: gradients are
 * overwritten by each backward phase and their sum by the first batch of an update.
 *
 * The host cuts the arrays into pieces of one segment each, or of what only the average
 * touches (buffers, frozen parameters, gaps); a block takes one. The rule of a segment
 * (rate, decay, bias correction: fp64) is made once for an update, by a thread each.
 *
 * The average is taken into the region if nothing between it and the optimizer needs what
 * the optimizer writes; the region then stands where the average stood, behind the
 * running statistics, which it averages too.
 */
#include "ops/optimizer.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"

#include "cuda/channels.h"
#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/table.h"
#include "cuda/vec.h"
#include "cuda/weights.h"
#include "graph/flat.h"
#include "graph/kernel.h"
#include "ops/cast.h"
#include "ops/ema.h"
#include "ops/ema_formula.h"
#include "ops/optimizer_list.h"

enum { BLOCK = 256, PIECE = 2048, RULES_BLOCK = 64 };

struct piece {
    int64_t at;  /* elements of the flat arrays */
    int len;     /* at most PIECE */
    int segment; /* or -1: only the average */
};

/* A formula: how it runs, and the bytes of a rule. */
struct optimizer_kind {
    const struct op *op;
    void (*run)(struct step *s, struct device *dev);
    size_t rule;
};

static const struct optimizer_kind *kind_of(const struct op *op);

struct optimizer_state {
    const struct node *update, *average; /* either may be NULL */
    const struct optimizer_kind *kind;
    enum dtype half;
    bool copies; /* a half copy may be wanted */
    int pieces;  /* blocks */
    int write_average, derived_pieces, derived_segments, derived_half;
};

/* ---- what is claimed ---- */

static bool overlap(const struct tensor *a, const struct tensor *b)
{
    return a->memory == b->memory && a->offset < b->offset + tensor_size(b) &&
           b->offset < a->offset + tensor_size(a);
}

/* May `n` run before `between` as well as behind it? */
static bool independent(const struct node *n, const struct node *between)
{
    for (int i = 0; i < n->nout; i++) {
        for (int k = 0; k < between->nin; k++)
            if (overlap(n->out[i], between->in[k]))
                return false;
        for (int k = 0; k < between->nout; k++)
            if (overlap(n->out[i], between->out[k]))
                return false;
    }
    for (int i = 0; i < n->nin; i++)
        for (int k = 0; k < between->nout; k++)
            if (overlap(n->in[i], between->out[k]))
                return false;
    return true;
}

/* The optimizer whose weights `average` follows, if it can wait until then; or NULL. */
static struct node *optimizer_before(const struct graph *g, const struct node *average)
{
    const struct tensor *all = average->in[EMA_WEIGHTS];

    for (int i = average->index; i-- > 0;) {
        struct node *n = g->node[i];
        const struct tensor *w = n->nout ? n->out[UPDATE_WEIGHTS] : nullptr;

        if (!optimizer_attrs(n))
            continue;
        if (w->memory != all->memory || w->offset != all->offset ||
            tensor_size(w) > tensor_size(all) || !node_free(n))
            return nullptr;
        for (int k = i + 1; k < average->index; k++)
            if (!independent(n, g->node[k]))
                return nullptr;
        return n;
    }
    return nullptr;
}

/* The half type that parameters are cast to. */
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
};

static void cut(struct pieces *p, int64_t at, int64_t end, int segment)
{
    while (at < end) {
        int len = end - at < PIECE ? (int)(end - at) : (int)PIECE;

        if (p->n == p->cap) {
            p->cap = p->cap ? 2 * p->cap : 64;
            p->item =
                (struct piece *)xrealloc(p->item, (size_t)p->cap * sizeof(*p->item));
        }
        p->item[p->n++] = {at, len, segment};
        at += len;
    }
}

/* NULL: the EMA alone. */
static const struct update *update_of(const struct optimizer_state *st)
{
    return st->update ? &optimizer_attrs(st->update)->update : nullptr;
}

/* All segments of the update; between and behind them what the average alone takes. */
static void cut_all(struct pieces *p, const struct optimizer_state *st)
{
    const struct update *u = update_of(st);
    int64_t at = 0, end = st->average ? tensor_len(st->average->out[0]) : 0;

    for (int i = 0; u && i < u->nsegment; i++) {
        const struct update_segment *s = &u->segment[i];

        if (st->average)
            cut(p, at, s->offset, -1);
        at = s->offset + s->len;
        cut(p, s->offset, at, i);
    }
    cut(p, at, end, -1);
}

static void make_tables(struct region *r, struct optimizer_state *st, struct device *dev)
{
    struct pieces p = {nullptr, 0, 0};

    cut_all(&p, st);
    st->pieces = p.n;
    if (p.n)
        st->derived_pieces =
            cuda_table(r, dev, p.item, (size_t)p.n * sizeof(struct piece));
    free(p.item);
    if (!st->update)
        return;

    const struct update *u = update_of(st);

    if (u->nsegment)
        st->derived_segments =
            cuda_table(r, dev, u->segment, (size_t)u->nsegment * sizeof(u->segment[0]));
    region_workspace(r, (size_t)u->nsegment * st->kind->rule);
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

static void take(struct region *r, struct node *n)
{
    region_take_alone(r, n);
}

static_assert((int)EMA_CONTROL == (int)UPDATE_CONTROL, "one place for the control");

static const char *optimizer_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *dev)
{
    struct optimizer_state *st = (struct optimizer_state *)region_state(r);
    struct node *update = n;

    if (!optimizer_attrs(n) && n->op != &op_ema)
        return "neither an optimizer nor an EMA";
    if (n->op == &op_ema)
        update = optimizer_before(g, n);
    if ((update && !aligned(update)) || !aligned(n))
        return "an array starts inside of 16 bytes";

    st->update = update;
    st->kind = kind_of(update ? update->op : nullptr);
    st->average = n->op == &op_ema ? n : nullptr;
    if (update)
        take(r, update);
    st->write_average = update ? update->nout : 0;
    if (st->average)
        take(r, n);
    make_tables(r, st, dev);
    st->copies = update && find_half(g, &st->half);
    if (st->copies)
        st->derived_half = cuda_half_weights_written(r, g, dev, st->half);
    return nullptr;
}

/* ---- kernels ---- */

#define KIND(NAME)                                                                       \
    struct NAME##_kind {                                                                 \
        using rule = struct NAME##_rule;                                                 \
                                                                                         \
        __device__ static rule make(const struct optimizer_attrs &a,                      \
                                    const update_segment *s, const control *c)           \
        {                                                                                \
            return NAME##_rule(&a, s, c);                                                \
        }                                                                                \
        __device__ static void element(float *w, float *m1, float *m2, float g,          \
                                       const rule &r)                                    \
        {                                                                                \
            NAME##_element(w, m1, m2, g, &r);                                            \
        }                                                                                \
    };
OPTIMIZER_LIST(KIND)

/* The EMA alone: no segment, so no rule. */
struct no_kind {
    struct rule {};

    __device__ static rule make(const struct optimizer_attrs &, const update_segment *,
                                const control *)
    {
        return {};
    }
    __device__ static void element(float *, float *, float *, float, const rule &) {}
};

template <class K>
__global__ void __launch_bounds__(RULES_BLOCK)
    optimizer_rules(struct optimizer_attrs a, const update_segment *s, int n, const control *c,
                    typename K::rule *rules)
{
    int i = (int)(blockIdx.x * RULES_BLOCK + threadIdx.x);

    if (i < n && !c->overflow)
        rules[i] = K::make(a, s + i, c);
}

/* What is absent is NULL. */
template <class H> struct flat_arrays {
    const float *g;
    float *w, *m1, *m2, *average;
    H *half;
};

/* N elements from `at` on. */
template <class K, class H, int N>
__device__ static inline void update_pack(const flat_arrays<H> &a, int64_t at,
                                          const typename K::rule &r, float rate)
{
    pack<float, N> g = pack_load<N>(a.g + at), w = pack_load<N>(a.w + at), m1 = w, m2 = w,
                   e = w;
    pack<H, N> half;

    if (a.m1)
        m1 = pack_load<N>(a.m1 + at);
    if (a.m2)
        m2 = pack_load<N>(a.m2 + at);
    if (a.average)
        e = pack_load<N>(a.average + at);
    for (int k = 0; k < N; k++) {
        K::element(&w.v[k], &m1.v[k], &m2.v[k], g.v[k], r);
        e.v[k] = ema_element(e.v[k], w.v[k], rate);
        half.set(k, w.v[k]);
    }
    pack_store<float, N>(a.w + at, w);
    if (a.m1)
        pack_store<float, N>(a.m1 + at, m1);
    if (a.m2)
        pack_store<float, N>(a.m2 + at, m2);
    if (a.average)
        pack_store<float, N>(a.average + at, e);
    if (a.half)
        pack_store<H, N>(a.half + at, half);
}

template <class H, int N>
__device__ static inline void average_pack(const flat_arrays<H> &a, int64_t at,
                                           float rate)
{
    pack<float, N> w = pack_load<N>(a.w + at), e = pack_load<N>(a.average + at);

    for (int k = 0; k < N; k++)
        e.v[k] = ema_element(e.v[k], w.v[k], rate);
    pack_store<float, N>(a.average + at, e);
}

/* Vectors from an aligned start on, the rest one by one. */
template <class K, class H>
__global__ void __launch_bounds__(BLOCK)
    optimizer_update(flat_arrays<H> a, const piece *pieces, const typename K::rule *rules,
                     const control *c)
{
    constexpr int N = 4;
    piece p = pieces[blockIdx.x];
    int vectors = p.at % N ? 0 : p.len / N * N, t = (int)threadIdx.x;
    float rate = (float)(1 - c->ema_decay);

    if (c->overflow)
        return;
    if (p.segment < 0) {
        for (int i = t * N; i < vectors; i += BLOCK * N)
            average_pack<H, N>(a, p.at + i, rate);
        for (int i = vectors + t; i < p.len; i += BLOCK)
            average_pack<H, 1>(a, p.at + i, rate);
        return;
    }

    typename K::rule r = rules[p.segment];

    for (int i = t * N; i < vectors; i += BLOCK * N)
        update_pack<K, H, N>(a, p.at + i, r, rate);
    for (int i = vectors + t; i < p.len; i += BLOCK)
        update_pack<K, H, 1>(a, p.at + i, r, rate);
}

/* ---- running ---- */

template <class H> static flat_arrays<H> arrays_of(const struct step *s)
{
    const struct optimizer_state *st = (const struct optimizer_state *)s->state;
    flat_arrays<H> a = {};
    int moments = st->update ? st->update->nout - UPDATE_MOMENT1 : 0;

    a.w = (float *)(st->update ? s->out[UPDATE_WEIGHTS] : s->in[EMA_WEIGHTS]);
    a.g = st->update ? (const float *)s->in[UPDATE_GRADS] : nullptr;
    a.m1 = moments > 0 ? (float *)s->out[UPDATE_MOMENT1] : nullptr;
    a.m2 = moments > 1 ? (float *)s->out[UPDATE_MOMENT2] : nullptr;
    a.average = st->average ? (float *)s->out[st->write_average] : nullptr;
    a.half = st->copies ? (H *)s->derived[st->derived_half] : nullptr;
    return a;
}

template <class K> static void update_run(struct step *s, struct device *dev)
{
    using rule = typename K::rule;
    const struct optimizer_state *st = (const struct optimizer_state *)s->state;
    const struct control *c = (const struct control *)s->in[UPDATE_CONTROL];
    const piece *pieces = (const piece *)s->derived[st->derived_pieces];
    rule *rules = (rule *)s->workspace;

    if (!st->pieces)
        return;
    if (st->update && update_of(st)->nsegment) {
        int n = update_of(st)->nsegment;

        LAUNCH(dev, optimizer_rules<K>, cuda_blocks(n, RULES_BLOCK, 1), RULES_BLOCK, 0,
               *optimizer_attrs(st->update),
               (const update_segment *)s->derived[st->derived_segments], n, c, rules);
    }
    if (st->half == DTYPE_BF16)
        LAUNCH(dev, (optimizer_update<K, bf16>), (unsigned)st->pieces, BLOCK, 0,
               arrays_of<bf16>(s), pieces, (const rule *)rules, c);
    else
        LAUNCH(dev, (optimizer_update<K, f16>), (unsigned)st->pieces, BLOCK, 0,
               arrays_of<f16>(s), pieces, (const rule *)rules, c);
}

#define KIND_ROW(NAME) {&op_##NAME, update_run<NAME##_kind>, sizeof(NAME##_kind::rule)},
static const struct optimizer_kind kinds[] = {
    OPTIMIZER_LIST(KIND_ROW){nullptr, update_run<no_kind>, 0}};

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
