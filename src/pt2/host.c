#include "pt2/host.h"

#include <math.h>
#include <string.h>

#include "ops/constant.h"

enum { LEN_MAX = 1 << 24 };

struct pt2_value pt2_host_new(struct pt2_import *c, int dtype, int ndim,
                              const int64_t *dim)
{
    static const int order[] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct pt2_value v = {.kind = PT2_VALUE_CONSTANT, .ndim = ndim};
    struct pt2_host *h = arena_new(&c->b->g->arena, sizeof(*h));

    pt2_dims(v.dim, dim, ndim);
    if (!pt2_value_fits(&v) || pt2_value_len(&v) > LEN_MAX) {
        pt2_refuse(c, "its result is empty or too large");
        for (int d = 0; d < ndim; d++)
            v.dim[d] = 1;
    }
    h->dtype = dtype;
    h->len = pt2_value_len(&v);
    h->data = arena_new(&c->b->g->arena, (size_t)h->len * sizeof(*h->data));
    v.host = h;
    v.memory = ++c->memories;
    pt2_value_store(&v, order);
    return v;
}

double *pt2_host_at(const struct pt2_value *v, int64_t i)
{
    int64_t pos = v->offset;

    for (int d = v->ndim - 1; d >= 0; d--) {
        pos += i % v->dim[d] * v->stride[d];
        i /= v->dim[d];
    }
    return &v->host->data[pos];
}

double pt2_host_round(double x, int dtype)
{
    if (dtype == PT2_BOOL)
        return x != 0;
    if (pt2_is_integer(dtype))
        return trunc(x);
    return dtype == PT2_F64 ? x : (double)(float)x;
}

void pt2_host_store(struct pt2_import *c, struct pt2_value *v, const int *order)
{
    struct pt2_value y = pt2_host_new(c, v->host->dtype, v->ndim, v->dim);

    pt2_value_store(&y, order);
    for (int64_t i = 0; i < y.host->len; i++)
        *pt2_host_at(&y, i) = *pt2_host_at(v, i);
    *v = y;
}

struct pt2_value pt2_host_show(struct pt2_import *c, const struct pt2_value *v)
{
    struct constant_attrs a = {.ndim = v->ndim < TENSOR_DIMS ? v->ndim : TENSOR_DIMS};
    static const int order[] = {0, 1, 2, 3, 4, 5, 6, 7};
    int64_t len = pt2_value_len(v);
    float *data = arena_new(&c->b->g->arena, (size_t)len * sizeof(*data));
    struct pt2_value y = *v;

    for (int d = 0; d < v->ndim; d++) {
        int pos = d < a.ndim ? d : a.ndim - 1;

        a.dim[pos] = (d < a.ndim ? 1 : a.dim[pos]) * v->dim[d];
    }
    if (!a.ndim)
        a.dim[a.ndim++] = 1;
    for (int64_t i = 0; i < len; i++)
        data[i] = (float)*pt2_host_at(v, i);
    a.data = data;
    a.layer = arena_printf(&c->b->g->arena, "%s.constant%d",
                           c->node ? c->node->name : "output", c->memories);
    y.kind = PT2_VALUE_TENSOR;
    y.host = NULL;
    y.memory = ++c->memories;
    y.t = constant_(c->b, &a);
    pt2_value_store(&y, order);
    return y;
}
