/* Constants: new ones, casts, and what joins or picks elements. */
#include <math.h>
#include <string.h>

#include "pt2/fold.h"

/* ---- new ones ---- */

/* Consumes the arguments that do not matter on the host. */
static void ignore_options(struct pt2_import *c)
{
    static const char *const names[] = {"dtype",      "layout",        "device",
                                        "pin_memory", "requires_grad", "memory_format"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        pt2_ignore(c, names[i]);
}

/* A tensor of equal numbers, with the dims of `size` or of a tensor. */
static void fold_full(struct pt2_import *c, const struct pt2_fold_row *row)
{
    int64_t dim[PT2_DIMS];
    int n = 0;
    double fill = pt2_has(c, "fill_value") ? pt2_number(c, "fill_value", 0)
                  : pt2_has(c, "s")        ? pt2_number(c, "s", 0)
                                           : row->number;
    struct pt2_value y;
    bool sized = false;

    for (int i = 0; i < c->node->nin; i++)
        sized = sized || !strcmp(c->node->in[i].name, "size");
    if (pt2_is_tensor(c, "self")) {
        const struct pt2_value *like = pt2_tensor_or_mask(c, "self");

        n = like->ndim;
        memcpy(dim, like->dim, sizeof(dim));
    }
    if (sized)
        n = pt2_ints(c, "size", dim);
    ignore_options(c);
    y = pt2_host_new(c, pt2_fold_dtype(c), n, dim);
    for (int64_t i = 0; i < y.host->len; i++)
        y.host->data[i] = pt2_host_round(fill, y.host->dtype);
    pt2_fold_result(c, y);
}

static void fold_arange(struct pt2_import *c, const struct pt2_fold_row *row)
{
    double start = pt2_number(c, "start", 0), end = pt2_number(c, "end", 0),
           step = pt2_number(c, "step", 1);
    int64_t n = 0;
    struct pt2_value y;

    (void)row;
    ignore_options(c);
    if (step == 0 || !(fabs((end - start) / step) < 1e7))
        pt2_refuse(c, "a range without end");
    else
        n = (int64_t)ceil((end - start) / step);
    y = pt2_host_new(c, pt2_fold_dtype(c), 1, &n);
    for (int64_t i = 0; i < y.host->len; i++)
        y.host->data[i] = pt2_host_round(start + (double)i * step, y.host->dtype);
    pt2_fold_result(c, y);
}

/* PyTorch computes the second half from the end. */
static void fold_linspace(struct pt2_import *c, const struct pt2_fold_row *row)
{
    double start = pt2_number(c, "start", 0), end = pt2_number(c, "end", 0), step;
    int64_t n = pt2_int(c, "steps", 0);
    struct pt2_value y;

    (void)row;
    ignore_options(c);
    y = pt2_host_new(c, pt2_fold_dtype(c), 1, &n);
    step = n > 1 ? (double)(float)((end - start) / (double)(n - 1)) : 0;
    for (int64_t i = 0; i < y.host->len; i++)
        y.host->data[i] = pt2_host_round(i < n / 2 ? start + step * (double)i
                                                   : end - step * (double)(n - 1 - i),
                                         y.host->dtype);
    pt2_fold_result(c, y);
}

/* ---- copies ---- */

/* Copies v, rounded to the result's type. */
static struct pt2_value copied(struct pt2_import *c, const struct pt2_value *v)
{
    struct pt2_value y = pt2_host_new(c, pt2_fold_dtype(c), v->ndim, v->dim);

    for (int64_t i = 0; i < y.host->len; i++)
        y.host->data[i] = pt2_host_round(*pt2_host_at(v, i), y.host->dtype);
    return y;
}

static void fold_copy(struct pt2_import *c, const struct pt2_fold_row *row)
{
    struct pt2_value v = pt2_fold_operand(c, pt2_has(c, "input") ? "input" : "self");

    (void)row;
    ignore_options(c);
    pt2_ignore(c, "non_blocking");
    pt2_ignore(c, "copy");
    pt2_ignore(c, "other");
    pt2_fold_result(c, copied(c, &v));
}

/* Repeats dims; new ones come first. */
static void fold_repeat(struct pt2_import *c, const struct pt2_fold_row *row)
{
    struct pt2_value x = pt2_fold_operand(c, "self"), y;
    int64_t repeats[PT2_DIMS], dim[PT2_DIMS];
    int n = pt2_ints(c, pt2_has(c, "dims") ? "dims" : "repeats", repeats), more;

    (void)row;
    more = n - x.ndim;
    if (more < 0)
        pt2_refuse(c, "fewer repeats than dims");
    for (int d = 0; d < n; d++)
        if (repeats[d] < 1 || repeats[d] > PT2_MOST)
            pt2_refuse(c, "%lld repeats", (long long)repeats[d]);
    if (c->why->len)
        return;
    for (int d = 0; d < n; d++)
        dim[d] = repeats[d] * (d < more ? 1 : x.dim[d - more]);
    y = pt2_host_new(c, pt2_fold_dtype(c), n, dim);
    for (int64_t i = 0; !c->why->len && i < y.host->len; i++) {
        int64_t start = x.offset, rest = i;

        for (int d = n - 1; d >= more; d--) {
            start += rest % dim[d] % x.dim[d - more] * x.stride[d - more];
            rest /= dim[d];
        }
        y.host->data[i] = x.host->data[start];
    }
    pt2_fold_result(c, y);
}

static void fold_repeat_interleave(struct pt2_import *c, const struct pt2_fold_row *row)
{
    struct pt2_value x = pt2_fold_operand(c, "self"), y;
    int64_t times = pt2_int(c, "repeats", 1), dim[PT2_DIMS];
    int d = pt2_dim(c, pt2_int(c, "dim", 0), x.ndim);

    (void)row;
    if (!pt2_has(c, "dim") || times < 1 || times > PT2_MOST)
        pt2_refuse(c, "repeats without a dim");
    pt2_ignore(c, "output_size");
    if (c->why->len)
        return;
    memcpy(dim, x.dim, sizeof(dim));
    dim[d] *= times;
    y = pt2_host_new(c, pt2_fold_dtype(c), x.ndim, dim);
    for (int64_t i = 0; !c->why->len && i < y.host->len; i++) {
        int64_t start = x.offset, rest = i;

        for (int k = x.ndim - 1; k >= 0; k--) {
            start += rest % dim[k] / (k == d ? times : 1) * x.stride[k];
            rest /= dim[k];
        }
        y.host->data[i] = x.host->data[start];
    }
    pt2_fold_result(c, y);
}

static void fold_flip(struct pt2_import *c, const struct pt2_fold_row *row)
{
    struct pt2_value x = pt2_fold_operand(c, "self"), y;
    int64_t dims[PT2_DIMS];
    int n = pt2_ints(c, "dims", dims);

    (void)row;
    y = copied(c, &x);
    for (int i = 0; i < n && !c->why->len; i++) { /* read from the end */
        int d = pt2_dim(c, dims[i], x.ndim);

        x.offset += (x.dim[d] - 1) * x.stride[d];
        x.stride[d] = -x.stride[d];
    }
    for (int64_t i = 0; !c->why->len && i < y.host->len; i++)
        y.host->data[i] = *pt2_host_at(&x, i);
    pt2_fold_result(c, y);
}

/* Keeps what is below or above a diagonal. */
static void fold_triangle(struct pt2_import *c, const struct pt2_fold_row *row)
{
    struct pt2_value x = pt2_fold_operand(c, "self"), y = copied(c, &x);
    int64_t diagonal = pt2_int(c, "diagonal", 0);
    bool upper = row->number > 0;

    if (y.ndim < 2)
        pt2_refuse(c, "a triangle of a vector");
    for (int64_t i = 0; !c->why->len && i < y.host->len; i++) {
        int64_t column = i % y.dim[y.ndim - 1],
                line = i / y.dim[y.ndim - 1] % y.dim[y.ndim - 2];

        if (upper ? column - line < diagonal : column - line > diagonal)
            y.host->data[i] = 0;
    }
    pt2_fold_result(c, y);
}

/* ---- joined ---- */

/* The operands of a list, each with a new dim at d if they are stacked. */
static void join(struct pt2_import *c, struct pt2_value *v, int n, int d)
{
    struct pt2_value y;
    int64_t dim[PT2_DIMS], pos = 0;

    memcpy(dim, v[0].dim, sizeof(dim));
    dim[d] = 0;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < v[0].ndim; k++)
            if (v[i].ndim != v[0].ndim || (k != d && v[i].dim[k] != dim[k]))
                pt2_refuse(c, "its operands have different dims");
        dim[d] += v[i].dim[d];
    }
    if (c->why->len)
        return;
    y = pt2_host_new(c, pt2_fold_dtype(c), v[0].ndim, dim);
    for (int i = 0; i < n && !c->why->len; pos += v[i++].dim[d]) {
        struct pt2_value part = pt2_value_part(&y, d, pos, v[i].dim[d]);

        for (int64_t k = 0; k < pt2_value_len(&part); k++)
            *pt2_host_at(&part, k) =
                pt2_host_round(*pt2_host_at(&v[i], k), y.host->dtype);
    }
    pt2_fold_result(c, y);
}

static void fold_join(struct pt2_import *c, const struct pt2_fold_row *row)
{
    int n;
    struct pt2_value **src = pt2_constants(c, "tensors", &n), *v;
    bool stack = row->number > 0;
    int d = pt2_dim(c, pt2_int(c, "dim", 0), src[0]->ndim + stack);

    v = arena_new(&c->b->g->arena, (size_t)n * sizeof(*v));
    for (int i = 0; i < n && !c->why->len; i++) {
        v[i] = *src[i];
        if (stack && v[i].ndim == PT2_DIMS)
            pt2_refuse(c, "more than %d dims", PT2_DIMS);
        if (!stack || c->why->len)
            continue;
        for (int k = v[i].ndim++; k > d; k--) {
            v[i].dim[k] = v[i].dim[k - 1];
            v[i].stride[k] = v[i].stride[k - 1];
        }
        v[i].dim[d] = v[i].stride[d] = 1;
    }
    if (!c->why->len)
        join(c, v, n, d);
}

/* Each vector along a dim of its own. With "xy", the first two dims are swapped. */
static void fold_meshgrid(struct pt2_import *c, const struct pt2_fold_row *row)
{
    int n;
    struct pt2_value **v = pt2_constants(c, "tensors", &n), item[PT2_DIMS];
    bool xy = !strcmp(pt2_text(c, "indexing", "ij"), "xy");

    (void)row;
    if (n > PT2_DIMS || (xy && n < 2))
        pt2_refuse(c, "a grid of %d dims", n);
    for (int i = 0; i < n && !c->why->len; i++) {
        int d = xy && i < 2 ? 1 - i : i;

        item[i] = *v[i];
        item[i].ndim = n;
        if (v[i]->ndim > 1)
            pt2_refuse(c, "a grid of tensors that are not vectors");
        for (int k = 0; k < n; k++) {
            int source = xy && k < 2 ? 1 - k : k;

            item[i].dim[k] = v[source]->ndim ? v[source]->dim[0] : 1;
            item[i].stride[k] = k == d ? v[i]->stride[0] : 0;
        }
    }
    if (!c->why->len)
        pt2_result_list(c, v[0], item, n);
}

/* ---- picked ---- */

static void fold_one_hot(struct pt2_import *c, const struct pt2_fold_row *row)
{
    struct pt2_value x = pt2_fold_operand(c, "self"), y;
    int64_t n = pt2_int(c, "num_classes", -1), dim[PT2_DIMS];

    (void)row;
    if (n < 1 || x.ndim == PT2_DIMS)
        pt2_refuse(c, "no number of classes");
    memcpy(dim, x.dim, sizeof(dim));
    dim[x.ndim == PT2_DIMS ? 0 : x.ndim] = n;
    y = pt2_host_new(c, pt2_fold_dtype(c), x.ndim + 1, dim);
    for (int64_t i = 0; !c->why->len && i < y.host->len; i++)
        y.host->data[i] = *pt2_host_at(&x, i / n) == (double)(i % n);
    pt2_fold_result(c, y);
}

/* x[i, j, ...]: constant indices of the first dims, or of one dim after full ones. */
static void fold_index(struct pt2_import *c, const struct pt2_fold_row *row)
{
    struct pt2_value x = pt2_fold_operand(c, pt2_has(c, "weight") ? "weight" : "self"), y;
    struct pt2_positions p;

    (void)row;
    pt2_ignore(c, "padding_idx");
    pt2_ignore(c, "scale_grad_by_freq");
    pt2_ignore(c, "sparse");
    if (c->why->len || !pt2_positions(c, &x, &p))
        return;
    y = pt2_host_new(c, pt2_fold_dtype(c), p.ndim, p.dim);
    for (int64_t i = 0; !c->why->len && i < y.host->len; i++) {
        int64_t inner = i % p.inner, outer = i / p.inner / p.n,
                pos = (outer * p.extent + p.index[i / p.inner % p.n]) * p.inner + inner;

        y.host->data[i] = *pt2_host_at(&x, pos);
    }
    pt2_fold_result(c, y);
}

/* clang-format off */
const struct pt2_fold_row pt2_fold_shapes[] = {
    {"zeros", fold_full, .creates = true},
    {"ones", fold_full, .number = 1, .creates = true},
    {"full", fold_full, .creates = true},
    {"new_zeros", fold_full, .creates = true},
    {"new_ones", fold_full, .number = 1, .creates = true},
    {"new_full", fold_full, .creates = true},
    {"zeros_like", fold_full, .creates = true},
    {"ones_like", fold_full, .number = 1, .creates = true},
    {"full_like", fold_full, .creates = true},
    {"scalar_tensor", fold_full, .creates = true},
    {"arange", fold_arange, .creates = true},
    {"linspace", fold_linspace, .creates = true},
    {"to", .fold = fold_copy}, {"_to_copy", .fold = fold_copy}, {"type_as", .fold = fold_copy},
    {"clone", .fold = fold_copy}, {"detach", .fold = fold_copy}, {"lift_fresh_copy", .fold = fold_copy},
    {"repeat", .fold = fold_repeat}, {"tile", .fold = fold_repeat},
    {"repeat_interleave", .fold = fold_repeat_interleave}, {"flip", .fold = fold_flip},
    {"tril", .fold = fold_triangle}, {"triu", fold_triangle, .number = 1},
    {"cat", .fold = fold_join}, {"stack", fold_join, .number = 1}, {"meshgrid", .fold = fold_meshgrid},
    {"one_hot", .fold = fold_one_hot}, {"index", .fold = fold_index}, {"index_select", .fold = fold_index},
    {"embedding", .fold = fold_index},
    {0},
};
/* clang-format on */
