/* What joins tensors: concatenation, padding, rolls. */
#include <string.h>

#include "ops/concat.h"
#include "ops/strided_copy.h"
#include "ops/tokens.h"
#include "pt2/compose.h"
#include "pt2/host.h"
#include "pt2/table.h"

/* A parameter [1,1,C] that is repeated for each sample, before x: a class token. */
static bool cat_token(struct pt2_import *c, struct pt2_value **v, int n, int d)
{
    struct tensor *token = v[0]->t;
    struct pt2_value x;

    if (n != 2 || d != 1 || v[0]->ndim != 3 || v[1]->ndim != 3 || v[0]->stride[0] != 0 ||
        v[0]->dim[1] != 1 || token->kind != TENSOR_PARAM || token->ndim != 3 ||
        token->dim[2] != v[0]->dim[2] || token->dim[0] != 1 || token->dim[1] != 1)
        return false;
    x = *v[1];
    if (!pt2_store(c, &x, (const int[]){0, 1, 2}))
        return true;
    x.t = pt2_view_of(c, x.t, LAYOUT_PLAIN, 3, x.dim);
    pt2_result_tensor(c, prepend_token(c->b, x.t, token, pt2_layer(c)));
    return true;
}

/* Gets the order of the first value that has one, in which all are stored then. */
static void common_order(struct pt2_value **v, int n, int *order)
{
    for (int i = 0; i < n; i++)
        if (pt2_value_order(v[i], order))
            return;
    (void)pt2_value_order(v[0], order);
}

struct pt2_value pt2_joined(struct pt2_import *c, struct pt2_value **v, int n, int d)
{
    struct tensor **in = arena_new(&c->b->g->arena, (size_t)n * sizeof(struct tensor *)),
                  *y;
    struct pt2_value all = *v[0];
    int order[PT2_DIMS], pos = 0;
    bool image = all.ndim == 4;

    common_order(v, n, order);
    while (order[pos] != d)
        pos++;
    image = image && order[0] == 0 && order[1] == 2 && order[2] == 3;
    all.dim[d] = 0;
    for (int i = 0; i < n; i++) {
        struct pt2_value x = *v[i];
        int64_t outer = 1, inner = 1;

        for (int k = 0; k < x.ndim; k++) {
            if (x.ndim != all.ndim || (k != d && x.dim[k] != all.dim[k])) {
                pt2_refuse(c, "its operands have different dims");
                return all;
            }
            outer *= k < pos ? x.dim[order[k]] : 1;
            inner *= k > pos ? x.dim[order[k]] : 1;
        }
        if (!pt2_store(c, &x, order))
            return all;
        all.dim[d] += x.dim[d];
        in[i] = image && d != 0 ? pt2_view_of(c, x.t, LAYOUT_IMAGE, 4, x.dim)
                                : pt2_view_of(c, x.t, LAYOUT_PLAIN, 3,
                                              (const int64_t[]){outer, x.dim[d], inner});
    }
    y = concat(c->b, in, n, pt2_layer(c), .axis = image && d != 0 ? d : 1);
    all.t = y;
    pt2_value_store(&all, order);
    return all;
}

static void cat(struct pt2_import *c, struct pt2_value **v, int n, int d)
{
    struct pt2_value all = pt2_joined(c, v, n, d);

    if (!c->why->len)
        pt2_result(c, all);
}

void pt2_map_cat(struct pt2_import *c)
{
    int n;
    struct pt2_value **v = pt2_tensors(c, "tensors", &n);
    int d = pt2_dim(c, pt2_int(c, "dim", 0), v[0]->ndim);

    if (c->why->len || cat_token(c, v, n, d))
        return;
    if (n == 1)
        pt2_result_view(c, v[0], *v[0]);
    else
        cat(c, v, n, d);
}

void pt2_map_stack(struct pt2_import *c)
{
    int n;
    struct pt2_value **v = pt2_tensors(c, "tensors", &n), *one;
    int d = pt2_dim(c, pt2_int(c, "dim", 0), v[0]->ndim + 1);

    for (int i = 0; i < n && !c->why->len; i++) {
        if (v[i]->ndim == PT2_DIMS) {
            pt2_refuse(c, "more than %d dims", PT2_DIMS);
            return;
        }
        one = arena_new(&c->b->g->arena, sizeof(*one));
        *one = *v[i];
        for (int k = one->ndim++; k > d; k--) {
            one->dim[k] = one->dim[k - 1];
            one->stride[k] = one->stride[k - 1];
        }
        one->dim[d] = one->stride[d] = 1;
        v[i] = one;
    }
    if (!c->why->len)
        cat(c, v, n, d);
}

/* ---- around the edges ---- */

/* Adds a number to what surrounds a padded tensor. */
static struct pt2_value with_frame(struct pt2_import *c, struct pt2_value y,
                                   const int64_t before[PT2_DIMS],
                                   const int64_t after[PT2_DIMS], double value)
{
    int64_t dim[PT2_DIMS];
    struct pt2_value frame, inside;

    for (int d = 0; d < y.ndim; d++)
        dim[d] = before[d] || after[d] ? y.dim[d] : 1;
    frame = pt2_host_new(c, PT2_F32, y.ndim, dim);
    if (c->why->len)
        return y;
    for (int64_t i = 0; i < frame.host->len; i++)
        frame.host->data[i] = value;
    inside = frame;
    for (int d = 0; d < y.ndim; d++)
        inside = pt2_value_part(&inside, d, before[d], dim[d] - before[d] - after[d]);
    for (int64_t i = 0; i < pt2_value_len(&inside); i++)
        *pt2_host_at(&inside, i) = 0;
    frame = pt2_host_show(c, &frame);
    return pt2_sum(c, &y, &frame);
}

/* Puts x into a tensor of zeros: the gradient of a strided copy. */
static void pad(struct pt2_import *c, struct pt2_value x, const int64_t before[PT2_DIMS],
                const int64_t after[PT2_DIMS], double value)
{
    struct strided_copy_attrs a = {.layer = pt2_layer(c), .layout = LAYOUT_PLAIN};
    struct pt2_value y = x;
    int order[PT2_DIMS];

    if (!pt2_dense(c, &x))
        return;
    (void)pt2_value_order(&x, order);
    for (int d = 0; d < y.ndim; d++)
        y.dim[d] += before[d] + after[d];
    if (!pt2_value_fits(&y)) {
        pt2_refuse(c, "its result is empty or too large");
        return;
    }
    pt2_value_store(&y, order);
    a.n = y.ndim;
    a.ndim = y.ndim < TENSOR_DIMS ? y.ndim : TENSOR_DIMS;
    for (int i = 0; i < y.ndim; i++) {
        int pos = i < a.ndim ? i : a.ndim - 1;

        a.len[i] = x.dim[order[i]];
        a.stride[i] = y.stride[order[i]];
        a.offset += before[order[i]] * y.stride[order[i]];
        a.dim[pos] = (i < a.ndim ? 1 : a.dim[pos]) * y.dim[order[i]];
    }
    y.t = node(c->b, &op_strided_copy_grad, a.layer, &a, &x.t, 1);
    if (value != 0)
        y = with_frame(c, y, before, after, value);
    if (!c->why->len)
        pt2_result(c, y);
}

void pt2_map_pad(struct pt2_import *c)
{
    const struct pt2_value *self = pt2_tensor(c, pt2_has(c, "input") ? "input" : "self");
    struct pt2_value x = *self;
    int64_t amount[PT2_DIMS], before[PT2_DIMS] = {0}, after[PT2_DIMS] = {0};
    int n = pt2_ints(c, "pad", amount);
    bool nothing = true;

    const char *mode = pt2_text(c, "mode", "constant");
    double value = pt2_number(c, "value", 0);

    if (n % 2 || n / 2 > x.ndim)
        pt2_refuse(c, "%d numbers for %d dims", n, x.ndim);
    if (c->why->len)
        return;
    for (int i = 0; i < n; i += 2) { /* pairs, of the last dim first */
        int d = x.ndim - 1 - i / 2;

        if (amount[i] < -x.dim[d] || amount[i + 1] < -x.dim[d] || amount[i] > PT2_MOST ||
            amount[i + 1] > PT2_MOST || x.dim[d] + amount[i] + amount[i + 1] < 1) {
            pt2_refuse(c, "padding by %lld and %lld", (long long)amount[i],
                       (long long)amount[i + 1]);
            return;
        }
        x = pt2_value_part(&x, d, amount[i] < 0 ? -amount[i] : 0,
                           x.dim[d] + (amount[i] < 0 ? amount[i] : 0) +
                               (amount[i + 1] < 0 ? amount[i + 1] : 0));
        before[d] = amount[i] > 0 ? amount[i] : 0;
        after[d] = amount[i + 1] > 0 ? amount[i + 1] : 0;
        nothing = nothing && !before[d] && !after[d];
    }
    if (nothing)
        pt2_result_view(c, self, x);
    else if (strcmp(mode, "constant") != 0)
        pt2_pad_with_copies(c, x, before, after, mode);
    else
        pad(c, x, before, after, value);
}

/* Moves elements along dims; what leaves at the end comes back at the start. */
void pt2_map_roll(struct pt2_import *c)
{
    struct pt2_value x = *pt2_tensor(c, "self"), part[2], *both[] = {&part[0], &part[1]};
    int64_t shift[PT2_DIMS], dims[PT2_DIMS];
    int n = pt2_ints(c, "shifts", shift), m = pt2_ints(c, "dims", dims);

    if (n != m || n < 1)
        pt2_refuse(c, "a roll of a flattened tensor");
    for (int i = 0; i < n && !c->why->len; i++) {
        int d = pt2_dim(c, dims[i], x.ndim);
        int64_t len = x.dim[d], distance = (shift[i] % len + len) % len;

        if (c->why->len || distance == 0)
            continue;
        part[0] = pt2_value_part(&x, d, len - distance, distance);
        part[1] = pt2_value_part(&x, d, 0, len - distance);
        x = pt2_joined(c, both, 2, d);
    }
    if (!c->why->len)
        pt2_result(c, x);
}
