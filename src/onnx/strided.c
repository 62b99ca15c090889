/*
 * strided_copy and its gradient, which pads with zeros: a reshape to the axes along which the
 * loops run, slices of them, and a transpose. Loops that do not nest, such as overlapping
 * windows, pick elements by their places.
 */
#include "ops/strided_copy.h"
#include "base/error.h"
#include "onnx/convert.h"
#include "onnx/export.h"

enum { AXES = 2 * STRIDED_COPY_DIMS + 2 };

/* The axes of x, outermost first: loop[i] runs over positions start .. start + len - 1 of axis
 * i; loop -1: only position start is read. */
struct axes {
    int n, loop[AXES];
    int64_t dim[AXES], start[AXES], len[AXES];
};

/* Sorts the loops that move in x by descending stride. Returns their number. */
static int sort_loops(const struct strided_copy_attrs *a, int order[STRIDED_COPY_DIMS])
{
    int n = 0;

    for (int i = 0; i < a->n; i++) {
        int pos = n;

        if (a->len[i] == 1 || a->stride[i] == 0)
            continue;
        for (; pos > 0 && a->stride[order[pos - 1]] < a->stride[i]; pos--)
            order[pos] = order[pos - 1];
        order[pos] = i;
        n++;
    }
    return n;
}

/* Returns false if the positions do not lie on the axis, or are a part of the batch. */
static bool add_axis(struct axes *x, int loop, int64_t dim, int64_t start, int64_t len)
{
    if (dim < 1 || start + len > dim)
        return false;
    if (convert_is_batch(dim) && len != dim) { /* [m, batch], of which one m is read */
        if (!convert_is_batch(len) || start % len || dim % len)
            return false;
        (void)add_axis(x, -1, dim / len, start / len, 1);
        start = 0;
        dim = len;
    }
    x->loop[x->n] = loop;
    x->dim[x->n] = dim;
    x->start[x->n] = start;
    x->len[x->n++] = len;
    return true;
}

/* Finds the axes of x, which has `all` elements. Returns false if the loops do not nest. */
static bool find_axes(struct axes *x, const struct strided_copy_attrs *a, int64_t all)
{
    int order[STRIDED_COPY_DIMS], n = sort_loops(a, order);
    int64_t offset = a->offset;

    x->n = 0;
    for (int i = 0; i < n; i++) {
        int64_t s = a->stride[order[i]];

        if (all % s || !add_axis(x, order[i], all / s, offset / s, a->len[order[i]]))
            return false;
        offset %= s;
        all = s;
    }
    return add_axis(x, -1, all, offset, 1);
}

static const char *slice_axes(struct convert *c, const struct axes *x, const char *v)
{
    v = convert_dims(c, v, x->n, x->dim);
    for (int i = 0; i < x->n; i++)
        if (x->len[i] != x->dim[i])
            v = convert_slice(c, v, i, x->start[i], x->start[i] + x->len[i], 1);
    return v;
}

/* Gets the axes in the order of the loops: those without a loop first. True if they already
 * were. */
static bool sort_axes(const struct axes *x, int64_t perm[AXES])
{
    int n = 0;
    bool same = true;

    for (int loop = -1; loop < STRIDED_COPY_DIMS; loop++)
        for (int i = 0; i < x->n; i++)
            if (x->loop[i] == loop)
                perm[n++] = i;
    for (int i = 0, last = -1; i < x->n; i++) {
        same = same && (x->loop[i] < 0 || x->loop[i] > last);
        last = x->loop[i] < 0 ? last : x->loop[i];
    }
    return same;
}

/* Repeats v, with a dim for each loop that is 1 where the stride is 0. */
static const char *repeat(struct convert *c, const struct strided_copy_attrs *a,
                          const char *v)
{
    const char *part[STRIDED_COPY_DIMS + 1] = {NULL};

    for (int i = 0; i < a->n; i++) {
        int64_t len = a->stride[i] ? 1 : a->len[i];

        part[i] = onnx_int64s(c->x, CONVERT_DIMS(len));
        if (convert_is_batch(len)) {
            int64_t times = len / ONNX_BATCH;

            part[i] = convert_batch(c);
            if (times > 1)
                part[i] = onnx_node(
                    c->x, "Mul", ONNX_IN(part[i], onnx_int64s(c->x, CONVERT_DIMS(times))));
        }
    }
    return onnx_node(c->x, "Expand", ONNX_IN(v, convert_concat(c, 0, part)));
}

/* x as [outer, batch, inner]; without a batch as [1, 1, inner]. The loops without that of the
 * batch, which is loop `batch`, or -1. */
struct picked {
    int batch;
    int64_t outer, inner, count, len[STRIDED_COPY_DIMS];
};

/* Dies if the elements of different images are picked at different places. */
static struct picked find_picked(const struct node *n)
{
    const struct strided_copy_attrs *a = n->attrs;
    int64_t all = tensor_len(n->in[0]);
    struct picked p = {.batch = -1, .outer = 1, .inner = all, .count = 1};

    for (int i = 0; i < a->n; i++) {
        p.len[i] = a->len[i];
        if (a->len[i] == ONNX_BATCH && a->stride[i] && p.batch < 0) {
            p.batch = i;
            p.inner = a->stride[i];
            p.outer = all / (p.inner * ONNX_BATCH);
            p.len[i] = 1;
        }
        p.count *= p.len[i];
    }
    if (convert_is_batch(p.count) || convert_is_batch(all) != (p.batch >= 0) ||
        (p.batch >= 0 && p.outer * p.inner * ONNX_BATCH != all))
        die("layer '%s': this copy cannot be exported to ONNX", n->layer);
    return p;
}

/* Returns the places of the picked elements in [outer, inner]. */
static const char *places(struct convert *c, const struct node *n, const struct picked *p)
{
    const struct strided_copy_attrs *a = n->attrs;
    int64_t *place = arena_new(c->mem, (size_t)p->count * sizeof(*place));

    for (int64_t i = 0; i < p->count; i++) {
        int64_t pos = a->offset + strided_copy_place(p->len, a->stride, a->n, i);

        place[i] = pos;
        if (p->batch < 0)
            continue;
        if (pos / p->inner % ONNX_BATCH)
            die("layer '%s': this copy cannot be exported to ONNX", n->layer);
        place[i] = pos / (p->inner * ONNX_BATCH) * p->inner + pos % p->inner;
    }
    return convert_places(c, n, p->count, place);
}

/* Picks the elements of an image, or of a tensor without a batch, by their places. */
static const char *pick(struct convert *c, const struct node *n)
{
    const struct strided_copy_attrs *a = n->attrs;
    struct picked p = find_picked(n);
    int64_t dst[STRIDED_COPY_DIMS + 1] = {p.batch < 0 ? 1 : ONNX_BATCH},
                                    perm[STRIDED_COPY_DIMS];
    const char *v = convert_stored(c, n->in[0]);

    if (p.outer > 1) {
        v = convert_dims(c, v, CONVERT_DIMS(p.outer, ONNX_BATCH, p.inner));
        v = convert_transpose(c, v, CONVERT_DIMS(1, 0, 2));
    }
    v = convert_dims(c, v, CONVERT_DIMS(dst[0], p.outer * p.inner));
    v = onnx_node(c->x, "Gather", ONNX_IN(v, places(c, n, &p)));
    onnx_int(c->x, "axis", 1);
    for (int i = 0, pos = 1; i < a->n; i++) {
        perm[i] = i == p.batch ? 0 : pos;
        if (i != p.batch)
            dst[pos++] = p.len[i];
    }
    if (p.batch > 0) {
        v = convert_dims(c, v, a->n, dst);
        v = convert_transpose(c, v, a->n, perm);
    }
    return convert_from_stored(c, v, n->out[0]);
}

const char *convert_strided_copy(struct convert *c, const struct node *n)
{
    const struct strided_copy_attrs *a = n->attrs;
    int64_t perm[AXES], dim[STRIDED_COPY_DIMS];
    bool repeats = false;
    const char *v;
    struct axes x;

    if (!find_axes(&x, a, tensor_len(n->in[0])))
        return pick(c, n);
    v = slice_axes(c, &x, convert_stored(c, n->in[0]));
    if (!sort_axes(&x, perm))
        v = convert_transpose(c, v, x.n, perm);
    for (int i = 0; i < a->n; i++) {
        dim[i] = a->stride[i] ? a->len[i] : 1;
        repeats = repeats || dim[i] != a->len[i];
    }
    if (repeats)
        v = repeat(c, a, convert_dims(c, v, a->n, dim));
    return convert_from_stored(c, v, n->out[0]);
}

/* The elements of the loops, put into zeros. */
const char *convert_strided_copy_grad(struct convert *c, const struct node *n)
{
    const struct strided_copy_attrs *a = n->attrs;
    int64_t perm[AXES], back[AXES], len[AXES], amount[2 * AXES];
    const char *v = convert_stored(c, n->in[0]);
    struct axes x;

    if (!strided_copy_is_unique(a) || !find_axes(&x, a, tensor_len(n->out[0])))
        die("layer '%s': this sum of elements cannot be exported to ONNX", n->layer);
    (void)sort_axes(&x, perm);
    for (int i = 0; i < x.n; i++) {
        back[perm[i]] = i;
        len[i] = x.len[perm[i]];
        amount[i] = x.start[i];
        amount[x.n + i] = x.dim[i] - x.start[i] - x.len[i];
    }
    v = convert_dims(c, v, x.n, len);
    v = convert_pad(c, convert_transpose(c, v, x.n, back), x.n, amount);
    return convert_from_stored(c, v, n->out[0]);
}
