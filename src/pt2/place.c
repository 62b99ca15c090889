#include "pt2/place.h"

#include <string.h>

#include "base/error.h"
#include "ops/image.h"
#include "ops/strided_copy.h"
#include "ops/view.h"
#include "pt2/host.h"

struct tensor *pt2_view_of(struct pt2_import *c, struct tensor *x, enum layout layout,
                           int ndim, const int64_t *dim)
{
    struct view_attrs a = {.layer = "", .layout = (int)layout, .ndim = ndim};

    if (x->layout == layout && x->ndim == ndim && ndim &&
        !memcmp(x->dim, dim, (size_t)ndim * sizeof(*dim)))
        return x;
    a.layer = arena_printf(&c->b->g->arena, "%s.view", c->node ? c->node->name : "");
    pt2_dims(a.dim, dim, ndim);
    return node(c->b, &op_view, a.layer, &a, &x, 1);
}

/* ---- copies ---- */

static const char *copy_name(struct pt2_import *c)
{
    return arena_printf(&c->b->g->arena, "%s.copy", c->node ? c->node->name : "output");
}

/* Copies the elements into this order. */
static void copy_strided(struct pt2_import *c, struct pt2_value *v, const int *order)
{
    struct strided_copy_attrs a = {
        .layer = copy_name(c), .n = v->ndim, .offset = v->offset};

    for (int i = 0; i < v->ndim; i++) {
        a.len[i] = v->dim[order[i]];
        a.stride[i] = v->stride[order[i]];
    }
    v->t = strided_copy_(c->b, v->t, &a);
    pt2_value_store(v, order);
}

bool pt2_store(struct pt2_import *c, struct pt2_value *v, const int *order)
{
    if (c->why->len || pt2_value_stored(v, order))
        return !c->why->len;
    if (v->host) {
        pt2_host_store(c, v, order);
        return true;
    }
    if (!v->t)
        BUG("a value without a tensor");
    copy_strided(c, v, order);
    return true;
}

bool pt2_dense(struct pt2_import *c, struct pt2_value *v)
{
    int order[PT2_DIMS];

    return !c->why->len && (pt2_value_order(v, order) || pt2_store(c, v, order));
}

/* ---- operands ---- */

struct tensor *pt2_image(struct pt2_import *c, const struct pt2_value *v)
{
    static const int nhwc[] = {0, 2, 3, 1};
    struct pt2_value x = *v;

    if (x.ndim != 4)
        pt2_refuse(c, "its operand has %d dims, and images have 4", x.ndim);
    return pt2_store(c, &x, nhwc) ? pt2_view_of(c, x.t, LAYOUT_IMAGE, 4, x.dim) : NULL;
}

struct tensor *pt2_rows(struct pt2_import *c, const struct pt2_value *v,
                        int order[PT2_DIMS])
{
    struct pt2_value x = *v;
    int64_t dim[PT2_DIMS], rows = 1;
    int last = x.ndim - 1;

    if (x.ndim < 1)
        pt2_refuse(c, "its operand is a number");
    if (c->why->len)
        return NULL;
    if (!pt2_value_order(&x, order) || (x.dim[last] != 1 && order[last] != last)) {
        for (int d = 0; d < x.ndim; d++)
            order[d] = d;
        if (!pt2_store(c, &x, order))
            return NULL;
    }
    for (int i = 0; i < x.ndim; i++) {
        dim[i] = x.dim[order[i]];
        rows *= i < last ? dim[i] : 1;
    }
    if (x.ndim <= TENSOR_DIMS)
        return pt2_view_of(c, x.t, LAYOUT_PLAIN, x.ndim, dim);
    return pt2_view_of(c, x.t, LAYOUT_PLAIN, 3,
                       (const int64_t[]){dim[0], rows / dim[0], dim[last]});
}

struct pt2_value pt2_rows_value(const struct pt2_value *v, const int order[PT2_DIMS],
                                struct tensor *t)
{
    struct pt2_value y = *v;

    y.t = t;
    y.dim[y.ndim - 1] = tensor_channels(t);
    pt2_value_store(&y, order);
    return y;
}

struct tensor *pt2_plain(struct pt2_import *c, const struct pt2_value *v)
{
    int order[PT2_DIMS];
    struct pt2_value x = *v;
    int64_t dim[PT2_DIMS], rest = 1;

    if (!pt2_dense(c, &x))
        return NULL;
    (void)pt2_value_order(&x, order);
    if (x.t->layout == LAYOUT_IMAGE && x.ndim == 4 && order[3] == 1 && order[1] == 2 &&
        !memcmp(x.dim, x.t->dim, 4 * sizeof(*x.dim)))
        return x.t;
    for (int i = 0; i < x.ndim; i++) {
        dim[i] = x.dim[order[i]];
        rest *= i ? dim[i] : 1;
    }
    if (x.ndim <= TENSOR_DIMS && x.ndim)
        return pt2_view_of(c, x.t, LAYOUT_PLAIN, x.ndim, dim);
    return pt2_view_of(c, x.t, LAYOUT_PLAIN, 2, (const int64_t[]){dim[0], rest});
}

struct tensor *pt2_vector(struct pt2_import *c, const struct pt2_value *v, int64_t len)
{
    if (!c->why->len && (!v->t || v->t->ndim != 1 || v->t->dim[0] != len ||
                         pt2_value_len(v) != len || v->ndim != 1))
        pt2_refuse(c, "a weight is not a vector of %lld numbers", (long long)len);
    return c->why->len ? NULL : v->t;
}

const char *pt2_layer_of(struct pt2_import *c, const struct tensor *w)
{
    const char *dot = w->producer ? NULL : strrchr(w->name, '.');

    if (!dot)
        return pt2_layer(c);
    return arena_printf(&c->b->g->arena, "%.*s", (int)(dot - w->name), w->name);
}
