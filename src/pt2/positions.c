#include "pt2/positions.h"

#include <string.h>

enum { LIST_MAX = 1 << 26 };

struct pt2_positions pt2_positions_along(struct pt2_import *c, const struct pt2_value *x,
                                         int first, int count, int64_t n)
{
    struct pt2_positions p = {.outer = 1, .extent = 1, .inner = 1, .n = n};

    if (n < 1 || n > LIST_MAX)
        pt2_refuse(c, "it picks %lld elements", (long long)n);
    for (int d = 0; d < x->ndim; d++) {
        int64_t *dst = d < first ? &p.outer : d < first + count ? &p.extent : &p.inner;

        *dst *= x->dim[d];
        if (dst != &p.extent)
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

static void add_index(struct pt2_import *c, struct indices *item, const char *name)
{
    const struct pt2_value *v = strmap_get(&c->value, name);

    if (!v || v->kind != PT2_VALUE_CONSTANT)
        pt2_refuse(c, "indices that depend on the images or weights");
    else if (v->host->dtype == PT2_BOOL)
        pt2_refuse(c, "a mask as index");
    else
        item->v[item->count] = *v;
    item->count++;
}

static void read_list(struct pt2_import *c, const struct pt2_arg *a, struct indices *item)
{
    if (a->kind != PT2_TENSORS || a->n > PT2_DIMS) {
        pt2_refuse(c, "its indices are not a list of tensors");
        return;
    }
    for (int i = 0; i < a->n && !c->why->len; i++) {
        if (!a->names[i] && !item->count) {
            item->first++;
        } else if (!a->names[i]) {
            for (int k = i; k < a->n; k++)
                if (a->names[k])
                    pt2_refuse(c, "indices of dims that are not adjacent");
            return;
        } else {
            add_index(c, item, a->names[i]);
        }
    }
}

static void broadcast(struct pt2_import *c, struct indices *item)
{
    for (int i = 0; i < item->count; i++)
        item->ndim = item->v[i].ndim > item->ndim ? item->v[i].ndim : item->ndim;
    for (int d = 0; d < item->ndim; d++) {
        item->dim[d] = 1;
        for (int i = 0; i < item->count; i++) {
            int k = d - (item->ndim - item->v[i].ndim);

            if (k >= 0 && item->v[i].dim[k] != 1)
                item->dim[d] = item->v[i].dim[k];
        }
    }
    for (int i = 0; i < item->count; i++)
        if (!pt2_value_expand(&item->v[i], item->ndim, item->dim))
            pt2_refuse(c, "its indices do not broadcast");
}

static bool read_indices(struct pt2_import *c, const struct pt2_value *x,
                         struct indices *item)
{
    const struct pt2_arg *list = pt2_argument(c, "indices"),
                         *one = pt2_argument(c, "index");

    if (list && list->kind == PT2_TENSORS) {
        read_list(c, list, item);
    } else if ((list && list->kind == PT2_TENSOR) || (one && one->kind == PT2_TENSOR)) {
        item->first = pt2_dim(c, pt2_int(c, "dim", 0), x->ndim);
        add_index(c, item, list ? list->name : one->name);
    }
    if (!c->why->len && (item->count < 1 || item->first + item->count > x->ndim))
        pt2_refuse(c, "its indices do not fit its operand");
    if (!c->why->len)
        broadcast(c, item);
    return !c->why->len;
}

bool pt2_positions(struct pt2_import *c, const struct pt2_value *x,
                   struct pt2_positions *p)
{
    struct indices item = {0};
    int64_t n = 1, rest;

    if (!read_indices(c, x, &item))
        return false;
    for (int d = 0; d < item.ndim; d++)
        n *= item.dim[d];
    *p = pt2_positions_along(c, x, item.first, item.count, n);
    if (x->ndim - item.count + item.ndim > PT2_DIMS)
        pt2_refuse(c, "more than %d dims", PT2_DIMS);
    for (int64_t i = 0; i < n && !c->why->len; i++) {
        rest = 0;
        for (int k = 0; k < item.count; k++) {
            int64_t len = x->dim[item.first + k], one = 0;
            double number = *pt2_host_at(&item.v[k], i);

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
        if (d == item.first)
            for (int k = 0; k < item.ndim; k++)
                p->dim[p->ndim++] = item.dim[k];
        if (d < item.first || d >= item.first + item.count)
            p->dim[p->ndim++] = x->dim[d];
    }
    return true;
}
