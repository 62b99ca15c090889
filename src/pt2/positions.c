#include "pt2/positions.h"

#include <string.h>

enum { LIST_MAX = 1 << 26 };

struct pt2_positions pt2_positions_along(struct pt2_import *c, const struct pt2_value *x,
                                         int first, int count, int64_t n)
{
    struct pt2_positions p = {.outer = 1, .all = 1, .inner = 1, .n = n};

    if (n < 1 || n > LIST_MAX)
        pt2_refuse(c, "it picks %lld elements", (long long)n);
    for (int d = 0; d < x->ndim; d++) {
        int64_t *to = d < first ? &p.outer : d < first + count ? &p.all : &p.inner;

        *to *= x->dim[d];
        if (to != &p.all)
            p.dim[p.ndim++] = x->dim[d];
        else if (d == first)
            p.dim[p.ndim++] = n;
    }
    if (c->why->len)
        p.n = 1;
    p.index = arena_new(&c->b->g->arena, (size_t)p.n * sizeof(*p.index));
    return p;
}

/* The indices of each indexed dim, broadcast to one shape. */
struct indices {
    int first, count; /* dims */
    int ndim;
    int64_t dim[PT2_DIMS];
    struct pt2_value v[PT2_DIMS];
};

static void add_index(struct pt2_import *c, struct indices *at, const char *name)
{
    const struct pt2_value *v = strmap_get(&c->value, name);

    if (!v || v->kind != PT2_VALUE_CONSTANT)
        pt2_refuse(c, "indices that depend on the images or weights");
    else if (v->host->dtype == PT2_BOOL)
        pt2_refuse(c, "a mask as index");
    else
        at->v[at->count] = *v;
    at->count++;
}

static void read_list(struct pt2_import *c, const struct pt2_arg *a, struct indices *at)
{
    if (a->kind != PT2_TENSORS || a->n > PT2_DIMS) {
        pt2_refuse(c, "its indices are no list of tensors");
        return;
    }
    for (int i = 0; i < a->n && !c->why->len; i++) {
        if (!a->names[i] && !at->count) {
            at->first++;
        } else if (!a->names[i]) {
            for (int k = i; k < a->n; k++)
                if (a->names[k])
                    pt2_refuse(c, "indices of dims that are not adjacent");
            return;
        } else {
            add_index(c, at, a->names[i]);
        }
    }
}

static void broadcast(struct pt2_import *c, struct indices *at)
{
    for (int i = 0; i < at->count; i++)
        at->ndim = at->v[i].ndim > at->ndim ? at->v[i].ndim : at->ndim;
    for (int d = 0; d < at->ndim; d++) {
        at->dim[d] = 1;
        for (int i = 0; i < at->count; i++) {
            int k = d - (at->ndim - at->v[i].ndim);

            if (k >= 0 && at->v[i].dim[k] != 1)
                at->dim[d] = at->v[i].dim[k];
        }
    }
    for (int i = 0; i < at->count; i++)
        if (!pt2_value_expand(&at->v[i], at->ndim, at->dim))
            pt2_refuse(c, "its indices do not broadcast");
}

static bool read_indices(struct pt2_import *c, const struct pt2_value *x,
                         struct indices *at)
{
    const struct pt2_arg *list = pt2_argument(c, "indices"),
                         *one = pt2_argument(c, "index");

    if (list && list->kind == PT2_TENSORS) {
        read_list(c, list, at);
    } else if ((list && list->kind == PT2_TENSOR) || (one && one->kind == PT2_TENSOR)) {
        at->first = pt2_dim(c, pt2_int(c, "dim", 0), x->ndim);
        add_index(c, at, list ? list->name : one->name);
    }
    if (!c->why->len && (at->count < 1 || at->first + at->count > x->ndim))
        pt2_refuse(c, "its indices do not fit its operand");
    if (!c->why->len)
        broadcast(c, at);
    return !c->why->len;
}

bool pt2_positions(struct pt2_import *c, const struct pt2_value *x,
                   struct pt2_positions *p)
{
    struct indices at = {0};
    int64_t n = 1, rest;

    if (!read_indices(c, x, &at))
        return false;
    for (int d = 0; d < at.ndim; d++)
        n *= at.dim[d];
    *p = pt2_positions_along(c, x, at.first, at.count, n);
    if (x->ndim - at.count + at.ndim > PT2_DIMS)
        pt2_refuse(c, "more than %d dims", PT2_DIMS);
    for (int64_t i = 0; i < n && !c->why->len; i++) {
        rest = 0;
        for (int k = 0; k < at.count; k++) {
            int64_t len = x->dim[at.first + k], one = 0;
            double number = *pt2_host_at(&at.v[k], i);

            if (number >= -(double)len && number < (double)len)
                one = (int64_t)number;
            else
                pt2_refuse(c, "index %g of a dim of %lld", number, (long long)len);
            rest = rest * len + (one < 0 ? one + len : one);
        }
        p->index[i] = (int32_t)rest;
    }
    if (c->why->len)
        return false;
    p->ndim = 0;
    for (int d = 0; d < x->ndim; d++) {
        if (d == at.first)
            for (int k = 0; k < at.ndim; k++)
                p->dim[p->ndim++] = at.dim[k];
        if (d < at.first || d >= at.first + at.count)
            p->dim[p->ndim++] = x->dim[d];
    }
    return true;
}
