#include "ops/concat.h"

#include <string.h>

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"
#include "ops/strided_copy.h"

static const struct attr concat_attr_table[] = {
    ATTR_INT(struct concat_attrs, axis, 1, TENSOR_DIMS - 1, "dim that grows"),
    {0},
};

struct tensor *concat_(struct builder *b, struct tensor *const *in, int n,
                       const struct concat_attrs *a)
{
    struct concat_attrs r = *a;

    if (r.axis == 0)
        r.axis = tensor_is_image(in[0]) ? IMAGE_C : in[0]->ndim - 1;
    return node(b, &op_concat, r.layer, &r, in, n);
}

/* Returns the place of a logical dim in memory: images are stored channels last. */
static int stored_place(const struct tensor *t, int axis)
{
    if (!tensor_is_image(t) || axis == IMAGE_N)
        return axis;
    return axis == IMAGE_C ? t->ndim - 1 : axis - 1;
}

int64_t concat_step(const struct tensor *t, int axis)
{
    int64_t step = 1;

    for (int d = 0; d < t->ndim; d++)
        if (stored_place(t, d) > stored_place(t, axis))
            step *= t->dim[d];
    return step;
}

bool concat_of_channels(const struct node *n)
{
    return n->op == &op_concat && tensor_is_image(n->out[0]) &&
           ((const struct concat_attrs *)n->attrs)->axis == IMAGE_C;
}

static const char *concat_shape(struct node *n)
{
    const struct concat_attrs *a = n->attrs;
    const struct tensor *first = n->in[0];
    struct tensor *y = n->out[0];
    int64_t len = 0;

    if (a->axis >= first->ndim)
        return "the tensors do not have that dim";
    for (int i = 0; i < n->nin; i++) {
        const struct tensor *t = n->in[i];

        if (t->ndim != first->ndim || t->layout != first->layout)
            return "the tensors differ in rank or layout";
        for (int d = 0; d < t->ndim; d++)
            if (d != a->axis && t->dim[d] != first->dim[d])
                return "the tensors differ in another dim";
        len += t->dim[a->axis];
    }
    tensor_like(y, first);
    y->dim[a->axis] = len;
    return NULL;
}

static void concat_grad(struct builder *b, const struct node *n)
{
    struct tensor *dy = grad_of(b, n->out[0]);
    struct slice_attrs a = {n->layer, ((const struct concat_attrs *)n->attrs)->axis, 0,
                            0};

    for (int i = 0; i < n->nin; i++) {
        a.len = (int)n->in[i]->dim[a.axis];
        if (grad_wanted(n->in[i]))
            grad_add(b, n->in[i], node(b, &op_slice, n->layer, &a, &dy, 1));
        a.first += a.len;
    }
}

/* Copies the first `len` elements of each row between rows of to_row and from_row. */
static void copy_rows(float *dst, int64_t to_row, const float *src, int64_t from_row,
                      int64_t len, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++)
        memcpy(dst + i * to_row, src + i * from_row, (size_t)len * sizeof(float));
}

static void concat_ref(const struct step *s)
{
    const struct concat_attrs *a = s->node->attrs;
    const struct tensor *y = s->node->out[0];
    int64_t step = concat_step(y, a->axis), all = y->dim[a->axis] * step, pos = 0;

    for (int i = 0; i < s->node->nin; i++) {
        int64_t len = s->node->in[i]->dim[a->axis] * step;

        copy_rows((float *)s->out[0] + pos, all, s->in[i], len, len, tensor_len(y) / all);
        pos += len;
    }
}

const struct op op_concat = {
    .name = "concat",
    .attrs = concat_attr_table,
    .attrs_size = sizeof(struct concat_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = concat_shape,
    .grad = concat_grad,
    .ref = concat_ref,
};

static const struct attr slice_attr_table[] = {
    ATTR_INT(struct slice_attrs, axis, 1, TENSOR_DIMS - 1, "dim that shrinks"),
    ATTR_INT(struct slice_attrs, first, 0, 1 << 30, "first of that dim"),
    ATTR_INT(struct slice_attrs, len, 1, 1 << 30, "number of that dim"),
    {0},
};

static const char *slice_shape(struct node *n)
{
    const struct slice_attrs *a = n->attrs;
    const struct tensor *x = n->in[0];

    if (a->axis >= x->ndim)
        return "the tensor does not have that dim";
    if ((int64_t)a->first + a->len > x->dim[a->axis])
        return "the slice extends beyond the end";
    tensor_like(n->out[0], x);
    n->out[0]->dim[a->axis] = a->len;
    return NULL;
}

struct tensor *channel_slice_of(const struct tensor *t, int64_t *channel)
{
    const struct node *n = t->producer;
    const struct slice_attrs *a;

    if (!n || n->op != &op_slice || !tensor_is_image(t))
        return NULL;
    a = n->attrs;
    if (a->axis != IMAGE_C)
        return NULL;
    *channel = a->first;
    return n->in[0];
}

static void slice_ref(const struct step *s)
{
    const struct slice_attrs *a = s->node->attrs;
    const struct tensor *x = s->node->in[0];
    int64_t step = concat_step(x, a->axis), all = x->dim[a->axis] * step;

    copy_rows(s->out[0], a->len * step, (const float *)s->in[0] + a->first * step, all,
              a->len * step, tensor_len(x) / all);
}

/* dy between zeros. */
static void slice_grad(struct builder *b, const struct node *n)
{
    const struct slice_attrs *a = n->attrs;
    const struct tensor *x = n->in[0];
    struct tensor *dy = grad_of(b, n->out[0]);
    int64_t step = concat_step(x, a->axis), all = x->dim[a->axis] * step;
    struct strided_copy_attrs copy = {.layer = n->layer,
                                      .n = 2,
                                      .len = {tensor_len(x) / all, a->len * step},
                                      .stride = {all, 1},
                                      .offset = a->first * step,
                                      .layout = (int)x->layout,
                                      .ndim = x->ndim};

    memcpy(copy.dim, x->dim, sizeof(copy.dim));
    grad_add(b, n->in[0], node(b, &op_strided_copy_grad, n->layer, &copy, &dy, 1));
}

const struct op op_slice = {
    .name = "slice",
    .attrs = slice_attr_table,
    .attrs_size = sizeof(struct slice_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = slice_shape,
    .grad = slice_grad,
    .ref = slice_ref,
};
