/*
 * Attention and softmax. Self-attention without a mask is window_attention with one window.
 * Its operand [B,N,3,heads,head] may be what a linear layer writes; otherwise q, k, and v are
 * joined. All other attention is two products and a softmax.
 */
#include <math.h>
#include <string.h>

#include "ops/concat.h"
#include "ops/dropout.h"
#include "ops/softmax.h"
#include "ops/window_attention.h"
#include "pt2/compose.h"
#include "pt2/host.h"
#include "pt2/table.h"

/* ---- softmax ---- */

static struct pt2_value softmax_of(struct pt2_import *c, const struct pt2_value *x)
{
    int order[PT2_DIMS];
    struct tensor *t = pt2_rows(c, x, order);

    return t ? pt2_rows_value(x, order, softmax(c->b, t, pt2_layer(c))) : *x;
}

void pt2_map_softmax(struct pt2_import *c)
{
    struct pt2_value x = *pt2_tensor(c, "self"), y;
    int d = pt2_dim(c, pt2_int(c, "dim", -1), x.ndim), swap[PT2_DIMS];

    if (c->why->len)
        return;
    for (int i = 0; i < x.ndim; i++)
        swap[i] = i == d ? x.ndim - 1 : i == x.ndim - 1 ? d : i;
    pt2_value_permute(&x, swap);
    y = softmax_of(c, &x);
    pt2_value_permute(&y, swap);
    pt2_result(c, y);
}

/* ---- attention ---- */

/* True if v [B,heads,N,head] is part `i` of [B,N,3,heads,head] at the start of v->t. */
static bool is_part(const struct pt2_value *v, int i)
{
    int64_t channels = v->dim[1] * v->dim[3];

    return v->ndim == 4 && v->t && tensor_len(v->t) == 3 * pt2_value_len(v) &&
           v->offset == i * channels && (v->dim[3] == 1 || v->stride[3] == 1) &&
           (v->dim[1] == 1 || v->stride[1] == v->dim[3]) &&
           (v->dim[2] == 1 || v->stride[2] == 3 * channels) &&
           (v->dim[0] == 1 || v->stride[0] == 3 * channels * v->dim[2]);
}

struct attention {
    const struct pt2_value *q, *k, *v, *mask;
    double scale, dropout;
};

static bool is_joined(const struct attention *a)
{
    const struct pt2_value *q = a->q, *k = a->k, *v = a->v;

    return q->t == k->t && q->t == v->t && is_part(q, 0) && is_part(k, 1) &&
           is_part(v, 2);
}

/* True if window_attention computes it. */
static bool is_self(const struct attention *a)
{
    for (int d = 0; d < 4; d++)
        if (a->q->ndim != 4 || a->k->ndim != 4 || a->v->ndim != 4 ||
            a->k->dim[d] != a->q->dim[d] || a->v->dim[d] != a->q->dim[d])
            return false;
    return !a->mask && a->q->dim[3] <= WINDOW_ATTENTION_HEAD &&
           a->q->dim[2] <= WINDOW_ATTENTION_TOKENS;
}

static const int tokens_first[] = {0, 2, 1, 3}; /* order of [B,heads,N,head] */

/* Returns q, k, and v [B,heads,N,head] as [B N,3,heads head], or NULL. */
static struct tensor *join(struct pt2_import *c, const struct attention *a)
{
    struct pt2_value part[] = {*a->q, *a->k, *a->v};
    struct tensor *in[3];

    for (int i = 0; i < 3; i++) {
        const int64_t dim[] = {part[i].dim[0] * part[i].dim[2], 1,
                               part[i].dim[1] * part[i].dim[3]};

        if (!pt2_store(c, &part[i], tokens_first))
            return NULL;
        in[i] = pt2_view_of(c, part[i].t, LAYOUT_PLAIN, 3, dim);
    }
    return concat(c->b, in, 3, pt2_layer(c), .axis = 1);
}

static void map_self(struct pt2_import *c, const struct attention *a)
{
    const struct pt2_value *q = a->q;
    struct tensor *qkv = is_joined(a) ? q->t : join(c, a), *x;
    struct window_attention_attrs w = {.layer = pt2_layer(c),
                                       .heads = (int)q->dim[1],
                                       .scale = (float)a->scale,
                                       .dropout = (float)a->dropout};
    struct pt2_value y = *q;

    if (!qkv)
        return;
    x = pt2_view_of(
        c, qkv, LAYOUT_PLAIN, 4,
        (const int64_t[]){q->dim[0], 1, q->dim[2], 3 * q->dim[1] * q->dim[3]});
    y.t = window_attention_(c->b, x, &w);
    pt2_value_store(&y, tokens_first);
    pt2_result(c, y);
}

/* True if b has the batches and heads of a, or one head for all. */
static bool same_batch(const struct pt2_value *a, const struct pt2_value *b)
{
    for (int d = 0; a->ndim == b->ndim && d < a->ndim - 2; d++)
        if (a->dim[d] != b->dim[d] && (b->dim[d] != 1 || a->ndim > 4))
            return false;
    return a->ndim == b->ndim;
}

/* Gives the matrices [p,q,rows,columns] the batch dims of `like`. */
static void spread(struct pt2_import *c, struct pt2_value *v,
                   const struct pt2_value *like)
{
    int64_t dim[PT2_DIMS];

    memcpy(dim, like->dim, sizeof(dim));
    dim[like->ndim - 2] = v->dim[2];
    dim[like->ndim - 1] = v->dim[3];
    if (!c->why->len && !pt2_value_view(v, like->ndim, dim))
        pt2_refuse(c, "attention of batches of different dims");
}

/* softmax(scale q k' + mask) v */
static void map_products(struct pt2_import *c, const struct attention *a)
{
    int n = a->q->ndim;
    struct pt2_value kt = *a->k, s;
    int swap[PT2_DIMS];

    if (n < 3 || !same_batch(a->q, a->k) || !same_batch(a->q, a->v)) {
        pt2_refuse(c, "attention of tensors that are not [..., tokens, channels]");
        return;
    }
    for (int d = 0; d < n; d++)
        swap[d] = d < n - 2 ? d : 2 * n - 3 - d;
    pt2_value_permute(&kt, swap);
    s = pt2_multiply(c, *a->q, kt, a->scale);
    spread(c, &s, a->q);
    if (a->mask && !c->why->len)
        s = pt2_sum(c, &s, a->mask);
    if (!c->why->len)
        s = softmax_of(c, &s);
    if (a->dropout > 0 && pt2_dense(c, &s))
        s.t = dropout(c->b, s.t, pt2_layer(c), .rate = (float)a->dropout);
    if (!c->why->len)
        s = pt2_multiply(c, s, *a->v, 1);
    spread(c, &s, a->q);
    if (!c->why->len)
        pt2_result(c, s);
}

/* Repeats each head of k or v for a group of heads of q. */
static struct pt2_value grouped(struct pt2_import *c, const struct pt2_value *v,
                                const struct pt2_value *q)
{
    int64_t heads = q->dim[1], groups = v->dim[1], dim[PT2_DIMS];
    struct pt2_value y = *v;

    if (q->ndim != 4 || v->ndim != 4 || heads % groups) {
        pt2_refuse(c, "groups of heads that do not divide the heads");
        return y;
    }
    memcpy(dim,
           (const int64_t[]){v->dim[0], groups, heads / groups, v->dim[2], v->dim[3]},
           5 * sizeof(*dim));
    y.ndim = 5;
    for (int d = 4; d > 2; d--) {
        y.dim[d] = v->dim[d - 1];
        y.stride[d] = v->stride[d - 1];
    }
    y.dim[2] = dim[2];
    y.stride[2] = 0;
    dim[1] = heads;
    dim[2] = v->dim[2];
    dim[3] = v->dim[3];
    if (!pt2_store(c, &y, (const int[]){0, 1, 2, 3, 4}) || !pt2_value_view(&y, 4, dim))
        pt2_refuse(c, "groups of heads that do not divide the heads");
    return y;
}

/* A mask of booleans, or of what comes before, as numbers that are added: 0 or -inf. Dims in
 * which it is repeated, such as the batch, have size 1. Returns NULL if it hides nothing. */
static struct pt2_value *added_mask(struct pt2_import *c, const struct pt2_value *mask)
{
    struct pt2_value y, *kept, first = *mask;
    bool hides = false;

    for (int d = 0; d < first.ndim; d++)
        if (first.stride[d] == 0)
            first.dim[d] = 1;
    y = pt2_host_new(c, PT2_F32, first.ndim, first.dim);
    for (int64_t i = 0; i < y.host->len; i++) {
        y.host->data[i] = *pt2_host_at(&first, i) != 0 ? 0 : -INFINITY;
        hides = hides || y.host->data[i] < 0;
    }
    if (!hides)
        return NULL;
    kept = arena_new(&c->b->g->arena, sizeof(*kept));
    *kept = pt2_host_show(c, &y);
    return kept;
}

static struct pt2_value *causal_mask(struct pt2_import *c, int64_t rows, int64_t columns)
{
    struct pt2_value y = pt2_host_new(c, PT2_BOOL, 2, (const int64_t[]){rows, columns});

    for (int64_t i = 0; i < y.host->len; i++)
        y.host->data[i] = i % y.dim[1] <= i / y.dim[1];
    return added_mask(c, &y);
}

/* Reads the mask: a tensor that is added, or a constant of booleans. */
static const struct pt2_value *mask_of(struct pt2_import *c)
{
    const struct pt2_value *v;
    const struct pt2_meta *m = NULL;

    for (int i = 0; i < c->node->nin; i++)
        if (!strcmp(c->node->in[i].name, "attn_mask") &&
            c->node->in[i].arg.kind == PT2_TENSOR)
            m = pt2_program_meta(c->p, c->node->in[i].arg.name);
    if (!m || m->dtype != PT2_BOOL)
        return pt2_optional(c, "attn_mask");
    v = pt2_any(c, "attn_mask");
    if (v->kind != PT2_VALUE_CONSTANT)
        pt2_refuse(c, "a mask that is computed");
    return c->why->len ? NULL : added_mask(c, v);
}

void pt2_map_attention(struct pt2_import *c)
{
    struct attention a = {.q = pt2_tensor(c, "query"),
                          .k = pt2_tensor(c, "key"),
                          .v = pt2_tensor(c, "value"),
                          .mask = mask_of(c),
                          .dropout = pt2_number(c, "dropout_p", 0),
                          .scale = pt2_number(c, "scale", 0)};
    bool causal = pt2_flag(c, "is_causal", false),
         groups = pt2_flag(c, "enable_gqa", false);
    struct pt2_value k, v;

    if (!(a.dropout >= 0) || a.dropout > 0.999)
        pt2_refuse(c, "a rate of %g", a.dropout);
    if (a.q->ndim < 3 || a.k->ndim < 3 || a.v->ndim < 3)
        pt2_refuse(c, "attention of tensors that are not [..., tokens, channels]");
    if (causal && a.mask)
        pt2_refuse(c, "causal attention with another mask");
    if (c->why->len)
        return;
    if (a.scale == 0)
        a.scale = 1 / sqrt((double)a.q->dim[a.q->ndim - 1]);
    if (groups && a.k->dim[1] != a.q->dim[1]) {
        k = grouped(c, a.k, a.q);
        v = grouped(c, a.v, a.q);
        a.k = &k;
        a.v = &v;
    }
    if (causal)
        a.mask = causal_mask(c, a.q->dim[a.q->ndim - 2], a.k->dim[a.k->ndim - 2]);
    if (c->why->len)
        return;
    if (is_self(&a))
        map_self(c, &a);
    else
        map_products(c, &a);
}
