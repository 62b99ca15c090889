/* Dims: what relabels or picks elements. */
#include <string.h>

#include "pt2/place.h"
#include "pt2/table.h"

static const struct pt2_value *operand(struct pt2_import *c)
{
    return pt2_has(c, "input") ? pt2_any(c, "input") : pt2_any(c, "self");
}

/* ---- the same elements ---- */

/* A copy, or a cast that changes nothing. */
void pt2_map_same(struct pt2_import *c)
{
    const struct pt2_value *x = operand(c);
    struct pt2_value y;

    pt2_ignore(c, "memory_format");
    if (!strcmp(c->node->target, "aten.type_as.default"))
        (void)pt2_any(c, "other"); /* all tensors are of one type */
    if (strstr(c->node->target, "aten.to.") || strstr(c->node->target, "_to_copy")) {
        pt2_ignore(c, "layout");
        pt2_ignore(c, "device");
        pt2_ignore(c, "pin_memory");
        if (pt2_int(c, "dtype", PT2_F32) != PT2_F32)
            pt2_refuse(c, "a cast to another type than 32-bit floats");
        (void)pt2_flag(c, "non_blocking", false);
        (void)pt2_flag(c, "copy", false);
    }
    if (!strncmp(c->node->target, "aten.clone", 10)) {
        pt2_result(c, *x);
        return;
    }
    y = *x;
    if (!strncmp(c->node->target, "aten.contiguous", 15))
        y.maybe_copy = true;
    pt2_result_view(c, x, y);
}

void pt2_map_skip(struct pt2_import *c)
{
    c->used = ~0ull;
}

/* Gives x these dims, of which one may be -1. */
static void reshape(struct pt2_import *c, const struct pt2_value *self, int n,
                    int64_t *dim)
{
    struct pt2_value x = *self;
    int64_t len = pt2_value_len(self), known = 1;
    int open = -1, order[PT2_DIMS];

    for (int d = 0; d < n; d++) {
        if (dim[d] == -1 && open < 0)
            open = d;
        else if (dim[d] < 0 || __builtin_mul_overflow(known, dim[d], &known))
            known = 0;
    }
    if (c->why->len)
        return;
    if (known <= 0 || (open < 0 ? known != len : len % known != 0)) {
        pt2_refuse(c, "a tensor of %lld elements has no such dims", (long long)len);
        return;
    }
    if (open >= 0)
        dim[open] = len / known;
    if (!pt2_value_view(&x, n, dim)) {
        for (int d = 0; d < x.ndim; d++)
            order[d] = d;
        if (!pt2_store(c, &x, order) || !pt2_value_view(&x, n, dim))
            return;
    }
    if (strncmp(c->node->target, "aten.view", 9) != 0)
        x.maybe_copy = true;
    pt2_result_view(c, self, x);
}

void pt2_map_view(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_any(c, "self");
    int64_t dim[PT2_DIMS];
    int n;

    if (pt2_is_tensor(c, "other")) { /* reshape_as, view_as */
        const struct pt2_value *other = pt2_any(c, "other");

        n = other->ndim;
        memcpy(dim, other->dim, sizeof(dim));
    } else {
        n = pt2_ints(c, pt2_has(c, "size") ? "size" : "shape", dim);
    }
    reshape(c, x, n, dim);
}

void pt2_map_flatten(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_any(c, "self");
    int first = pt2_dim(c, pt2_int(c, "start_dim", 0), x->ndim);
    int last = pt2_dim(c, pt2_int(c, "end_dim", -1), x->ndim), n = 0;
    int64_t dim[PT2_DIMS];

    for (int d = 0; d < x->ndim; d++) {
        if (d > first && d <= last)
            dim[n - 1] *= x->dim[d];
        else
            dim[n++] = x->dim[d];
    }
    reshape(c, x, n, dim);
}

/* One dim as several. */
void pt2_map_unflatten(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_any(c, "self");
    int pos = pt2_dim(c, pt2_int(c, "dim", 0), x->ndim);
    int64_t sizes[PT2_DIMS], dim[2 * PT2_DIMS], open = 1;
    int n = pt2_ints(c, "sizes", sizes), k = 0;

    for (int i = 0; i < n; i++)
        if (open > 0 && sizes[i] > 0 && __builtin_mul_overflow(open, sizes[i], &open))
            open = -1;
    if (x->ndim - 1 + n > PT2_DIMS || open < 1)
        pt2_refuse(c, "more than %d dims", PT2_DIMS);
    for (int d = 0; d < x->ndim && !c->why->len; d++)
        for (int i = 0; i < (d == pos ? n : 1); i++)
            dim[k++] = d != pos         ? x->dim[d]
                       : sizes[i] == -1 ? x->dim[d] / open
                                        : sizes[i];
    if (!c->why->len)
        reshape(c, x, k, dim);
}

/* ---- order ---- */

static void permute(struct pt2_import *c, const struct pt2_value *self, const int *src)
{
    struct pt2_value x = *self;

    if (c->why->len)
        return;
    pt2_value_permute(&x, src);
    pt2_result_view(c, self, x);
}

void pt2_map_permute(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_any(c, "self");
    int64_t dims[PT2_DIMS];
    int n = pt2_ints(c, "dims", dims), src[PT2_DIMS];

    if (n != x->ndim)
        pt2_refuse(c, "%d dims of %d", n, x->ndim);
    for (int d = 0; d < n; d++)
        src[d] = pt2_dim(c, dims[d], x->ndim);
    permute(c, x, src);
}

void pt2_map_transpose(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_any(c, "self");
    bool axes = pt2_has(c, "axis0"); /* of swapaxes */
    int a = pt2_dim(c, pt2_int(c, axes ? "axis0" : "dim0", 0), x->ndim),
        b = pt2_dim(c, pt2_int(c, axes ? "axis1" : "dim1", 0), x->ndim), src[PT2_DIMS];

    for (int d = 0; d < PT2_DIMS; d++)
        src[d] = d == a ? b : d == b ? a : d;
    permute(c, x, src);
}

void pt2_map_movedim(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_any(c, "self");
    int s = pt2_dim(c, pt2_int(c, "source", 0), x->ndim),
        end = pt2_dim(c, pt2_int(c, "destination", 0), x->ndim), src[PT2_DIMS], k = 0;

    for (int d = 0; d < x->ndim; d++, k++) {
        if (k == s)
            k++;
        if (d == end)
            src[d] = s, k--;
        else
            src[d] = k;
    }
    permute(c, x, src);
}

/* ---- dims of size 1 ---- */

void pt2_map_unsqueeze(struct pt2_import *c)
{
    const struct pt2_value *self = pt2_any(c, "self");
    struct pt2_value x = *self;
    int pos = pt2_dim(c, pt2_int(c, "dim", 0), self->ndim + 1);

    if (self->ndim == PT2_DIMS)
        pt2_refuse(c, "more than %d dims", PT2_DIMS);
    if (c->why->len)
        return;
    for (int d = x.ndim++; d > pos; d--) {
        x.dim[d] = x.dim[d - 1];
        x.stride[d] = x.stride[d - 1];
    }
    x.dim[pos] = x.stride[pos] = 1;
    pt2_result_view(c, self, x);
}

void pt2_map_squeeze(struct pt2_import *c)
{
    const struct pt2_value *self = pt2_any(c, "self");
    struct pt2_value x = *self;
    int64_t dims[PT2_DIMS];
    bool drop[PT2_DIMS] = {false}, all = !pt2_has(c, "dim");
    int n = pt2_ints(c, "dim", dims);

    for (int i = 0; i < n; i++)
        drop[pt2_dim(c, dims[i], self->ndim)] = true;
    if (self->ndim && self->dim[0] == 1 && (all || drop[0]))
        pt2_refuse(c, "it would remove the dim of the batch");
    x.ndim = 0;
    for (int d = 0; d < self->ndim; d++) {
        if (self->dim[d] == 1 && (all || drop[d]))
            continue;
        x.dim[x.ndim] = self->dim[d];
        x.stride[x.ndim++] = self->stride[d];
    }
    pt2_result_view(c, self, x);
}

void pt2_map_expand(struct pt2_import *c)
{
    const struct pt2_value *self = pt2_any(c, "self");
    struct pt2_value x = *self;
    int64_t dim[PT2_DIMS];
    int n = 0;

    if (!strcmp(c->node->target, "aten.expand_as.default")) {
        const struct pt2_value *other = pt2_any(c, "other");

        n = other->ndim;
        memcpy(dim, other->dim, sizeof(dim));
    } else {
        n = pt2_ints(c, "size", dim);
        (void)pt2_flag(c, "implicit", false);
    }
    for (int d = 0; d < n; d++)
        if (dim[d] < 0)
            dim[d] = d < n - self->ndim ? 0 : self->dim[d - (n - self->ndim)];
    if (!pt2_value_expand(&x, n, dim))
        pt2_refuse(c, "its operand does not broadcast to these dims");
    pt2_result_view(c, self, x);
}

/* ---- parts ---- */

void pt2_map_slice(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_any(c, "self");
    int d = pt2_dim(c, pt2_int(c, "dim", 0), x->ndim);
    int64_t n = x->ndim ? x->dim[d] : 0, begin = pt2_int(c, "start", 0),
            end = pt2_int(c, "end", INT64_MAX), step = pt2_int(c, "step", 1);
    struct pt2_value y;

    begin = begin < 0 ? begin + n : begin;
    end = end < 0 ? end + n : end;
    begin = begin < 0 ? 0 : begin > n ? n : begin;
    end = end < begin ? begin : end > n ? n : end;
    if (step < 1 || step > PT2_MOST)
        pt2_refuse(c, "a step of %lld", (long long)step);
    if (c->why->len)
        return;
    if (end == begin) {
        pt2_result(c, (struct pt2_value){.kind = PT2_VALUE_VOID});
        return;
    }
    y = pt2_value_part(x, d, begin, (end - begin + step - 1) / step);
    y.stride[d] *= step;
    pt2_result_view(c, x, y);
}

/* Removes dim d, of which element i is kept. */
static struct pt2_value selected(const struct pt2_value *x, int d, int64_t i)
{
    struct pt2_value y = pt2_value_part(x, d, i, 1);

    y.ndim--;
    for (; d < y.ndim; d++) {
        y.dim[d] = y.dim[d + 1];
        y.stride[d] = y.stride[d + 1];
    }
    return y;
}

void pt2_map_select(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_any(c, "self");
    int d = pt2_dim(c, pt2_int(c, "dim", 0), x->ndim);
    int64_t i = pt2_int(c, "index", 0);

    if (!c->why->len)
        i = pt2_dim(c, i, (int)x->dim[d]);
    if (!c->why->len)
        pt2_result_view(c, x, selected(x, d, i));
}

enum { PARTS = 256 };

/* Cuts dim d into parts of these lengths. */
static void cut(struct pt2_import *c, const struct pt2_value *x, int d, int n,
                const int64_t *len)
{
    struct pt2_value *item = arena_new(&c->b->g->arena, (size_t)n * sizeof(*item));
    int64_t start = 0;

    for (int i = 0; i < n; i++) {
        if (len[i] < 1 || len[i] > x->dim[d] - start) {
            pt2_refuse(c, "a part of %lld elements", (long long)len[i]);
            return;
        }
        item[i] = pt2_value_part(x, d, start, len[i]);
        start += len[i];
    }
    if (start != x->dim[d])
        pt2_refuse(c, "parts of %lld of %lld elements", (long long)start,
                   (long long)x->dim[d]);
    pt2_result_list(c, x, item, n);
}

/* Cuts dim d into parts of `each` elements, the last of which may be smaller. */
static void cut_evenly(struct pt2_import *c, const struct pt2_value *x, int d,
                       int64_t each)
{
    int64_t len[PARTS], all = x->ndim ? x->dim[d] : 0;
    int n = 0;

    each = each > all ? all : each;
    if (each < 1 || (all + each - 1) / each > PARTS)
        pt2_refuse(c, "more than %d parts", PARTS);
    if (c->why->len)
        return;
    for (int64_t start = 0; start < all; start += each)
        len[n++] = all - start < each ? all - start : each;
    cut(c, x, d, n, len);
}

void pt2_map_chunk(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_any(c, "self");
    int d = pt2_dim(c, pt2_int(c, "dim", 0), x->ndim);
    int64_t chunks = pt2_int(c, "chunks", 1);

    if (chunks < 1 || chunks > PARTS)
        pt2_refuse(c, "%lld chunks", (long long)chunks);
    if (!c->why->len)
        cut_evenly(c, x, d, (x->dim[d] + chunks - 1) / chunks);
}

void pt2_map_split(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_any(c, "self");
    int d = pt2_dim(c, pt2_int(c, "dim", 0), x->ndim), n;
    int64_t len[PT2_DIMS];

    if (!strcmp(c->node->target, "aten.split.Tensor")) {
        cut_evenly(c, x, d, pt2_int(c, "split_size", 0));
        return;
    }
    n = pt2_ints(c, "split_sizes", len);
    if (!c->why->len)
        cut(c, x, d, n, len);
}

void pt2_map_unbind(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_any(c, "self");
    int d = pt2_dim(c, pt2_int(c, "dim", 0), x->ndim);
    struct pt2_value item[PARTS];

    if (!c->why->len && x->dim[d] > PARTS)
        pt2_refuse(c, "more than %d parts", PARTS);
    for (int i = 0; !c->why->len && i < x->dim[d]; i++)
        item[i] = selected(x, d, i);
    if (!c->why->len)
        pt2_result_list(c, x, item, (int)x->dim[d]);
}

/* ---- sizes ---- */

void pt2_map_sym_size(struct pt2_import *c)
{
    const struct pt2_value *x = operand(c);
    int d = pt2_dim(c, pt2_int(c, "dim", 0), x->ndim);

    if (!c->why->len)
        pt2_result_number(c, x->dim[d]);
}

static void map_ints(struct pt2_import *c, bool product)
{
    int64_t a = pt2_int(c, "a", 0), b = pt2_int(c, "b", 0), y;

    if (c->node->nin != 2 ||
        (product ? __builtin_mul_overflow(a, b, &y) : __builtin_add_overflow(a, b, &y)))
        pt2_refuse(c, "its operands are not two sizes");
    else
        pt2_result_number(c, y);
}

void pt2_map_int_mul(struct pt2_import *c)
{
    map_ints(c, true);
}

void pt2_map_int_add(struct pt2_import *c)
{
    map_ints(c, false);
}
