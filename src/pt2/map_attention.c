/*
 * Attention, softmax, and products of tensors. Attention of q, k, and v that are parts of
 * one tensor [B,N,3,heads,head], as a linear layer writes it, is the operand of
 * window_attention with one window; all other attention is two products and a softmax.
 */
#include <math.h>
#include <string.h>

#include "ops/add.h"
#include "ops/dropout.h"
#include "ops/matmul.h"
#include "ops/softmax.h"
#include "ops/window_attention.h"
#include "pt2/place.h"
#include "pt2/table.h"

/* ---- products ---- */

/* Gives v the dims [p, q, rows, columns]: missing ones are 1, more than two of the batch
 * are joined, and those of `batch` are repeated. Refuses what does not fit. */
static bool as_matrices(struct pt2_import *c, struct pt2_value *v, const int64_t batch[2])
{
    int64_t dim[4] = {1, 1, 0, 0};
    int n = v->ndim;

    if (n < 2) {
        pt2_refuse(c, "a product of vectors");
        return false;
    }
    dim[2] = v->dim[n - 2];
    dim[3] = v->dim[n - 1];
    for (int d = 0; d < n - 2; d++)
        dim[n > 3 && d == n - 3] *= v->dim[d];
    if (!pt2_value_view(v, 4, dim)) {
        int order[PT2_DIMS];

        for (int d = 0; d < n; d++)
            order[d] = d;
        if (!pt2_store(c, v, order) || !pt2_value_view(v, 4, dim))
            return false;
    }
    if (batch && (v->dim[0] != batch[0] || v->dim[1] != batch[1]) &&
        !pt2_value_expand(v, 4, (const int64_t[]){batch[0], batch[1], dim[2], dim[3]})) {
        pt2_refuse(c, "a product of batches of different dims");
        return false;
    }
    return pt2_dense(c, v);
}

/* alpha a b of matrices; the result is stored next to the tokens if b is. */
static struct pt2_value multiply(struct pt2_import *c, struct pt2_value a,
                                 struct pt2_value b, double alpha)
{
    struct matmul_attrs m = {.layer = pt2_layer(c), .alpha = (float)alpha};
    struct pt2_value y = {.kind = PT2_VALUE_TENSOR, .ndim = 4};
    bool beside;

    if (!as_matrices(c, &a, NULL) || !as_matrices(c, &b, NULL))
        return y;
    for (int i = 0; i < 2; i++)
        m.batch[i] = a.dim[i] > b.dim[i] ? a.dim[i] : b.dim[i];
    if (!as_matrices(c, &a, m.batch) || !as_matrices(c, &b, m.batch))
        return y;
    if (a.dim[3] != b.dim[2]) {
        pt2_refuse(c, "a product of matrices of different dims");
        return y;
    }
    m.rows = a.dim[2];
    m.sums = a.dim[3];
    m.columns = b.dim[3];
    memcpy(m.a, a.stride, sizeof(m.a));
    memcpy(m.b, b.stride, sizeof(m.b));
    memcpy(y.dim, (const int64_t[]){m.batch[0], m.batch[1], m.rows, m.columns},
           4 * sizeof(*y.dim));
    beside = b.stride[3] == 1 && m.batch[1] > 1 && b.stride[1] < b.stride[2];
    pt2_value_store(&y, beside ? (const int[]){0, 2, 1, 3} : (const int[]){0, 1, 2, 3});
    memcpy(m.y, y.stride, sizeof(m.y));
    m.ndim = 4;
    for (int d = 0; d < 4; d++)
        m.dim[d] = y.dim[beside && (d == 1 || d == 2) ? 3 - d : d];
    y.t = matmul(c->b, a.t, b.t, &m);
    return y;
}

/* The product of rows [...,K] and one matrix. */
static void map_rows(struct pt2_import *c, const struct pt2_value *a,
                     const struct pt2_value *b)
{
    int order[PT2_DIMS];
    struct tensor *t = pt2_rows(c, a, order);
    struct pt2_value rows, y;

    if (!t)
        return;
    rows = (struct pt2_value){.kind = PT2_VALUE_TENSOR, .t = t, .ndim = 2};
    rows.dim[1] = a->dim[a->ndim - 1];
    rows.dim[0] = tensor_len(t) / rows.dim[1];
    pt2_value_store(&rows, (const int[]){0, 1});
    y = multiply(c, rows, *b, 1);
    if (!c->why->len)
        pt2_result(c, pt2_rows_value(a, order, y.t));
}

void pt2_map_matmul(struct pt2_import *c)
{
    const struct pt2_value *a = pt2_tensor(c, "self"),
                           *b = pt2_tensor(c, pt2_has(c, "mat2") ? "mat2" : "other");
    int n = a->ndim > b->ndim ? a->ndim : b->ndim;
    struct pt2_value y;
    int64_t dim[PT2_DIMS];

    if (c->why->len)
        return;
    if (b->ndim == 2 && a->ndim > 2) {
        map_rows(c, a, b);
        return;
    }
    if (n > 4 && a->ndim != b->ndim) {
        pt2_refuse(c, "a product of batches of different dims");
        return;
    }
    y = multiply(c, *a, *b, 1);
    if (c->why->len)
        return;
    memcpy(dim, a->ndim == n ? a->dim : b->dim, sizeof(dim));
    for (int d = 0; n <= 4 && d < n - 2; d++)
        dim[d] = y.dim[n == 3 ? 0 : d];
    dim[n - 2] = y.dim[2];
    dim[n - 1] = y.dim[3];
    if (!pt2_value_view(&y, n, dim))
        pt2_refuse(c, "a product of batches of different dims");
    pt2_result(c, y);
}

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

    return !a->mask && q->t == k->t && q->t == v->t && is_part(q, 0) && is_part(k, 1) &&
           is_part(v, 2) && q->dim[3] <= WINDOW_ATTENTION_HEAD &&
           q->dim[2] <= WINDOW_ATTENTION_TOKENS;
}

static void map_joined(struct pt2_import *c, const struct attention *a)
{
    static const int order[] = {0, 2, 1, 3}; /* of the result [B,heads,N,head] */
    const struct pt2_value *q = a->q;
    struct window_attention_attrs w = {.layer = pt2_layer(c),
                                       .heads = (int)q->dim[1],
                                       .scale = (float)a->scale,
                                       .dropout = (float)a->dropout};
    struct pt2_value y = *q;
    struct tensor *x = pt2_view_of(
        c, q->t, LAYOUT_PLAIN, 4,
        (const int64_t[]){q->dim[0], 1, q->dim[2], 3 * q->dim[1] * q->dim[3]});

    y.t = window_attention_(c->b, x, &w);
    pt2_value_store(&y, order);
    pt2_result(c, y);
}

/* softmax(scale q k' + mask) v */
static void map_products(struct pt2_import *c, const struct attention *a)
{
    struct pt2_value kt = *a->k, s;
    const int swap[] = {0, 1, 3, 2};

    if (a->q->ndim != 4 || a->k->ndim != 4 || a->v->ndim != 4 ||
        memcmp(a->q->dim, a->k->dim, 2 * sizeof(*a->k->dim)) != 0 ||
        memcmp(a->q->dim, a->v->dim, 2 * sizeof(*a->v->dim)) != 0) {
        pt2_refuse(c, "attention of tensors that are not [B, heads, tokens, channels]");
        return;
    }
    pt2_value_permute(&kt, swap);
    s = multiply(c, *a->q, kt, a->scale);
    if (a->mask && !c->why->len)
        s = pt2_sum(c, &s, a->mask);
    if (!c->why->len)
        s = softmax_of(c, &s);
    if (a->dropout > 0 && pt2_dense(c, &s))
        s.t = dropout(c->b, s.t, pt2_layer(c), .rate = (float)a->dropout);
    if (!c->why->len)
        s = multiply(c, s, *a->v, 1);
    if (!c->why->len)
        pt2_result(c, s);
}

void pt2_map_attention(struct pt2_import *c)
{
    struct attention a = {.q = pt2_tensor(c, "query"),
                          .k = pt2_tensor(c, "key"),
                          .v = pt2_tensor(c, "value"),
                          .mask = pt2_optional(c, "attn_mask"),
                          .dropout = pt2_number(c, "dropout_p", 0),
                          .scale = pt2_number(c, "scale", 0)};

    if (pt2_flag(c, "is_causal", false) || pt2_flag(c, "enable_gqa", false))
        pt2_refuse(c, "causal attention, or groups of heads");
    if (!(a.dropout >= 0) || a.dropout > 0.999)
        pt2_refuse(c, "a rate of %g", a.dropout);
    if (c->why->len)
        return;
    if (a.scale == 0)
        a.scale = 1 / sqrt((double)a.q->dim[a.q->ndim - 1]);
    if (is_joined(&a))
        map_joined(c, &a);
    else
        map_products(c, &a);
}
