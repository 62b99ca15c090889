#include "pt2/value.h"

#include <string.h>

#include "base/checked.h"
#include "pt2/host.h"

#define MOST ((uint64_t)1 << 40) /* elements */

int64_t pt2_value_len(const struct pt2_value *v)
{
    int64_t n = 1;

    for (int d = 0; d < v->ndim; d++)
        n *= v->dim[d];
    return n;
}

bool pt2_value_fits(const struct pt2_value *v)
{
    uint64_t n;

    return checked_array(v->dim, v->ndim, 1, &n) && n > 0 && n <= MOST;
}

struct pt2_value pt2_value_of(struct tensor *t)
{
    struct pt2_value v = {.kind = PT2_VALUE_TENSOR, .t = t, .ndim = t->ndim};
    int64_t stride[TENSOR_DIMS] = {0};

    tensor_strides(t, stride);
    memcpy(v.dim, t->dim, (size_t)t->ndim * sizeof(*v.dim));
    memcpy(v.stride, stride, (size_t)t->ndim * sizeof(*v.stride));
    return v;
}

void pt2_value_store(struct pt2_value *v, const int *order)
{
    int64_t step = 1;

    v->offset = 0;
    for (int i = v->ndim - 1; i >= 0; i--) {
        v->stride[order[i]] = step;
        step *= v->dim[order[i]];
    }
}

int64_t pt2_value_all(const struct pt2_value *v)
{
    return v->t ? tensor_len(v->t) : v->host->len;
}

bool pt2_value_stored(const struct pt2_value *v, const int *order)
{
    int64_t step = 1;

    for (int i = v->ndim - 1; i >= 0; i--) {
        int d = order[i];

        if (v->dim[d] != 1 && v->stride[d] != step)
            return false;
        step *= v->dim[d];
    }
    return v->offset == 0 && step == pt2_value_all(v);
}

/* True if dim a is stored outside of dim b. Dims of size 1 stay where they are. */
static bool outside(const struct pt2_value *v, int a, int b)
{
    return v->stride[a] >= v->stride[b] || v->dim[a] == 1 || v->dim[b] == 1;
}

bool pt2_value_order(const struct pt2_value *v, int *order)
{
    int real[PT2_DIMS], nreal = 0, k = 0;

    for (int d = 0; d < v->ndim; d++) {
        int pos = nreal;

        if (v->dim[d] == 1)
            continue;
        for (; pos && !outside(v, real[pos - 1], d); pos--)
            real[pos] = real[pos - 1];
        real[pos] = d;
        nreal++;
    }
    for (int d = 0; d < v->ndim; d++) /* a dim of size 1 keeps its position */
        order[d] = v->dim[d] == 1 ? d : real[k++];
    return pt2_value_stored(v, order);
}

bool pt2_value_same(const struct pt2_value *a, const struct pt2_value *b)
{
    if (a->kind != b->kind || a->t != b->t || a->host != b->host || a->ndim != b->ndim ||
        a->offset != b->offset)
        return false;
    for (int d = 0; d < a->ndim; d++)
        if (a->dim[d] != b->dim[d] || (a->dim[d] != 1 && a->stride[d] != b->stride[d]))
            return false;
    return true;
}

/* Joins dims that are stored next to each other. Returns their number. */
static int join(const struct pt2_value *v, int64_t *dim, int64_t *stride)
{
    int n = 0;

    for (int d = 0; d < v->ndim; d++) {
        if (v->dim[d] == 1)
            continue;
        if (n && stride[n - 1] == v->stride[d] * v->dim[d]) {
            dim[n - 1] *= v->dim[d];
            stride[n - 1] = v->stride[d];
        } else {
            dim[n] = v->dim[d];
            stride[n++] = v->stride[d];
        }
    }
    return n;
}

bool pt2_value_view(struct pt2_value *v, int ndim, const int64_t *dim)
{
    int64_t have[PT2_DIMS], step[PT2_DIMS], stride[PT2_DIMS] = {0};
    int n = join(v, have, step) - 1, d = ndim - 1;

    for (; d >= 0; d--) { /* each new dim has to divide what is left of a joined one */
        if (dim[d] == 1)
            continue;
        if (n < 0 || have[n] % dim[d])
            return false;
        stride[d] = step[n];
        step[n] *= dim[d];
        have[n] /= dim[d];
        if (have[n] == 1)
            n--;
    }
    if (n >= 0)
        return false;
    v->ndim = ndim;
    pt2_dims(v->dim, dim, ndim);
    memcpy(v->stride, stride, sizeof(stride));
    return true;
}

void pt2_value_permute(struct pt2_value *v, const int *src)
{
    struct pt2_value old = *v;

    for (int d = 0; d < v->ndim; d++) {
        v->dim[d] = old.dim[src[d]];
        v->stride[d] = old.stride[src[d]];
    }
}

bool pt2_value_expand(struct pt2_value *v, int ndim, const int64_t *dim)
{
    struct pt2_value old = *v;
    int new = ndim - v->ndim;

    if (new < 0 || ndim > PT2_DIMS)
        return false;
    for (int d = 0; d < ndim; d++) {
        int64_t had = d < new ? 1 : old.dim[d - new];

        if (had != dim[d] && had != 1)
            return false;
        v->dim[d] = dim[d];
        v->stride[d] = had == 1 ? 0 : old.stride[d - new];
    }
    v->ndim = ndim;
    return true;
}

struct pt2_value pt2_value_part(const struct pt2_value *x, int d, int64_t start,
                                int64_t len)
{
    struct pt2_value y = *x;

    y.offset += start * x->stride[d];
    y.dim[d] = len;
    return y;
}
