/* Functions of two operands that broadcast: sums, products, and the like. */
#include <string.h>

#include "ops/add.h"
#include "ops/expr.h"
#include "ops/image.h"
#include "ops/layer_scale.h"
#include "ops/scale_channels.h"
#include "pt2/compose.h"
#include "pt2/table.h"

/* Sets dim to the dims that a and b broadcast to. Returns their number, or -1. */
static int broadcast(const struct pt2_value *a, const struct pt2_value *b, int64_t *dim)
{
    int n = a->ndim > b->ndim ? a->ndim : b->ndim;

    for (int d = 0; d < n; d++) {
        int ad = d - (n - a->ndim), bd = d - (n - b->ndim);
        int64_t a_dim = ad < 0 ? 1 : a->dim[ad], b_dim = bd < 0 ? 1 : b->dim[bd];

        if (a_dim != b_dim && a_dim != 1 && b_dim != 1)
            return -1;
        dim[d] = a_dim == 1 ? b_dim : a_dim;
    }
    return n;
}

/* The value with as many dims, of size 1 where it broadcasts. */
static struct pt2_value with_dims(const struct pt2_value *v, int ndim)
{
    struct pt2_value y = *v;
    int new = ndim - v->ndim;

    y.ndim = ndim;
    for (int d = ndim - 1; d >= 0; d--) {
        y.dim[d] = d < new ? 1 : v->dim[d - new];
        y.stride[d] = d < new ? 1 : v->stride[d - new];
    }
    return y;
}

/* A parameter that is a vector along one dim of v: the tensor as it is, so that it stays
 * in fp32. Returns NULL if v is none, or another dim than `dim` is longer than 1. */
static struct tensor *vector_along(const struct pt2_value *v, int dim)
{
    for (int d = 0; d < v->ndim; d++)
        if (d != dim && v->dim[d] != 1)
            return NULL;
    return v->t->kind == TENSOR_PARAM && v->t->ndim == 1 && v->t->dim[0] == v->dim[dim] &&
                   v->t->dim[0] > 1
               ? v->t
               : NULL;
}

/* The tensors of two values of a shape, or one of which broadcasts to it. */
struct operands {
    struct pt2_value full; /* in the order of the result */
    struct tensor *t[2];
};

/* Joins dims that are stored next to each other, where both operands have them or one
 * broadcasts over them. Returns their number. */
static int join_dims(const struct pt2_value *full, const struct pt2_value *part,
                     const int *order, int64_t *all, int64_t *dims)
{
    bool before = false;
    int n = 0;

    for (int i = 0; i < full->ndim; i++) {
        int d = order[i];
        bool whole = part->dim[d] == full->dim[d];

        if (full->dim[d] == 1)
            continue;
        if (n && whole == before) {
            all[n - 1] *= full->dim[d];
            dims[n - 1] *= part->dim[d];
        } else {
            all[n] = full->dim[d];
            dims[n++] = part->dim[d];
        }
        before = whole;
    }
    return n;
}

/* Places the operand `part`, whose dims are those of `full` or 1. */
static bool place(struct pt2_import *c, struct operands *o, int full,
                  const struct pt2_value *operand)
{
    struct pt2_value part = *operand;
    int order[PT2_DIMS], n;
    int64_t full_dims[PT2_DIMS] = {1}, part_dims[PT2_DIMS] = {1};

    if (!pt2_dense(c, &o->full) || !pt2_value_order(&o->full, order))
        return false;
    if (!pt2_store(c, &part, order))
        return false;
    o->t[full] = o->full.t;
    o->t[1 - full] = part.t;
    if (tensor_same(o->full.t, part.t) &&
        !memcmp(part.dim, o->full.dim, sizeof(part.dim)))
        return true;
    o->t[full] = pt2_plain(c, &o->full);
    if (!o->t[full])
        return false;
    o->t[1 - full] = vector_along(&part, order[o->full.ndim - 1]);
    if (o->t[1 - full])
        return true;
    if (tensor_is_image(o->t[full])) {
        o->t[1 - full] = pt2_view_of(c, part.t, LAYOUT_IMAGE, 4, part.dim);
        return true;
    }
    if (o->full.ndim <= TENSOR_DIMS) {
        for (int i = 0; i < part.ndim; i++)
            part_dims[i] = part.dim[order[i]];
        o->t[1 - full] = pt2_view_of(c, part.t, LAYOUT_PLAIN, part.ndim, part_dims);
        return true;
    }
    n = join_dims(&o->full, &part, order, full_dims, part_dims);
    if (n > TENSOR_DIMS) {
        pt2_refuse(c, "its operands broadcast over %d dims", n);
        return false;
    }
    o->t[full] = pt2_view_of(c, o->full.t, LAYOUT_PLAIN, n, full_dims);
    o->t[1 - full] = pt2_view_of(c, part.t, LAYOUT_PLAIN, n, part_dims);
    return true;
}

/* Finds the tensors of two values. */
static bool place_both(struct pt2_import *c, const struct pt2_value *a,
                       const struct pt2_value *b, struct operands *o)
{
    int64_t dim[PT2_DIMS];
    int n = broadcast(a, b, dim), full;
    struct pt2_value v[2];

    if (n < 0 || a->kind != PT2_VALUE_TENSOR || b->kind != PT2_VALUE_TENSOR) {
        pt2_refuse(c, "its operands do not broadcast");
        return false;
    }
    v[0] = with_dims(a, n);
    v[1] = with_dims(b, n);
    full = memcmp(v[0].dim, dim, (size_t)n * sizeof(*dim)) != 0;
    if (full && memcmp(v[1].dim, dim, (size_t)n * sizeof(*dim)) != 0) {
        full = 0; /* both broadcast: repeat the first one */
        if (!pt2_value_expand(&v[0], n, dim) || !pt2_dense(c, &v[0]))
            return false;
    }
    if (full == 0 && !memcmp(v[1].dim, dim, (size_t)n * sizeof(*dim)) &&
        !tensor_is_image(v[0].t) && tensor_is_image(v[1].t))
        full = 1; /* of equal shapes, an image decides the order */
    o->full = v[full];
    return place(c, o, full, &v[1 - full]);
}

/* The result of an operation in the order of o->full. */
static void finish(struct pt2_import *c, const struct operands *o, struct tensor *y)
{
    struct pt2_value v = o->full;

    v.t = y;
    pt2_result(c, v);
}

static struct tensor *binary(struct pt2_import *c, enum expr_opcode opcode,
                             struct operands *o, double alpha)
{
    struct expr e = expr_start(pt2_layer(c), 2, o->t);
    int b = 1;

    if (alpha != 1)
        b = expr_number(&e, EXPR_SCALE_BY, b, (float)alpha);
    return expr_end(c->b, &e, expr_add(&e, opcode, 0, b));
}

struct pt2_value pt2_combine(struct pt2_import *c, enum expr_opcode opcode,
                             const struct pt2_value *x, const struct pt2_value *y)
{
    struct operands o;

    if (!place_both(c, x, y, &o))
        return *x;
    o.full.t = binary(c, opcode, &o, 1);
    return o.full;
}

/* Replaces elements where a constant mask is 1. */
void pt2_map_masked_fill(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "self"), *mask = pt2_tensor(c, "mask");
    double value = pt2_number(c, "value", 0);
    struct operands o;
    struct expr e;
    int v;

    if (c->why->len || !place_both(c, x, mask, &o))
        return;
    if (tensor_len(o.t[0]) < tensor_len(o.t[1])) {
        pt2_refuse(c, "a mask of more elements than it fills");
        return;
    }
    e = expr_start(pt2_layer(c), 2, o.t);
    v = expr_number(&e, EXPR_NUMBER, 0, (float)value);
    finish(c, &o, expr_end(c->b, &e, expr_select(&e, 1, v, 0)));
}

/* ---- sums ---- */

/* Reads the second operand: a tensor, or a number in *number. */
static const struct pt2_value *other(struct pt2_import *c, double *number)
{
    const struct pt2_value *v =
        pt2_is_tensor(c, "other") ? pt2_tensor_or_mask(c, "other") : NULL;

    *number = v ? 0 : pt2_number(c, "other", 0);
    return v;
}

/* x + number, where a mask's sum is part of a pattern of drop path. */
static void add_number(struct pt2_import *c, const struct pt2_value *x, double number)
{
    if (x->kind == PT2_VALUE_MASK && pt2_mask_add(c, x, number))
        return;
    pt2_map_one(c, x, EXPR_ADD_BY, number);
}

struct pt2_value pt2_sum(struct pt2_import *c, const struct pt2_value *x,
                         const struct pt2_value *y)
{
    struct operands o;

    if (!place_both(c, x, y, &o))
        return *x;
    o.full.t = tensor_same(o.t[0], o.t[1]) ? add(c->b, o.t[0], o.t[1], pt2_layer(c))
                                           : binary(c, EXPR_ADD, &o, 1);
    return o.full;
}

void pt2_map_add(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor_or_mask(c, "self"), *y;
    double number, alpha = pt2_number(c, "alpha", 1);
    struct operands o;

    y = other(c, &number);
    if (c->why->len)
        return;
    if (!y) {
        add_number(c, x, alpha * number);
        return;
    }
    if (alpha == 1) {
        struct pt2_value sum = pt2_sum(c, x, y);

        pt2_result(c, sum);
    } else if (place_both(c, x, y, &o)) {
        finish(c, &o, binary(c, EXPR_ADD, &o, alpha));
    }
}

/* self + value tensor1 tensor2 */
void pt2_map_addcmul(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "self"), *a = pt2_tensor(c, "tensor1"),
                           *b = pt2_tensor(c, "tensor2");
    double value = pt2_number(c, "value", 1);
    struct pt2_value y;

    if (c->why->len)
        return;
    y = pt2_times(c, a, b);
    if (value != 1)
        y = pt2_apply(c, &y, EXPR_SCALE_BY, value);
    if (!c->why->len)
        y = pt2_sum(c, x, &y);
    if (!c->why->len)
        pt2_result(c, y);
}

void pt2_map_sub(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "self"), *y;
    double number, alpha = pt2_number(c, "alpha", 1);
    struct operands o;

    y = other(c, &number);
    if (!y)
        pt2_map_one(c, x, EXPR_ADD_BY, -alpha * number);
    else if (place_both(c, x, y, &o))
        finish(c, &o, binary(c, EXPR_SUB, &o, alpha));
}

void pt2_map_rsub(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "self");
    double number = pt2_number(c, "other", 0);

    if (pt2_number(c, "alpha", 1) != 1)
        pt2_refuse(c, "an alpha other than 1");
    pt2_map_one(c, x, EXPR_SUB_FROM, number);
}

void pt2_map_maximum(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "self"), *y = pt2_tensor(c, "other");
    bool max = strstr(c->node->target, "maximum") != NULL;
    struct operands o;

    if (!c->why->len && place_both(c, x, y, &o))
        finish(c, &o, binary(c, max ? EXPR_MAX : EXPR_MIN, &o, 1));
}

/* ---- products ---- */

/* x times a factor per channel, or per channel and sample: ops with kernels of their own.
 * Returns NULL if it is neither. */
static struct tensor *scaled(struct pt2_import *c, const struct operands *o)
{
    int full = tensor_len(o->t[0]) < tensor_len(o->t[1]);
    struct tensor *x = o->t[full], *s = o->t[1 - full];

    if (s->kind == TENSOR_PARAM && tensor_is_vector(s, tensor_channels(x)))
        return layer_scale(c->b, x, pt2_layer(c), .gamma = s);
    if (tensor_is_image(x) && tensor_is_image(s) && s->dim[IMAGE_H] == 1 &&
        s->dim[IMAGE_W] == 1 && s->dim[IMAGE_N] == x->dim[IMAGE_N] &&
        s->dim[IMAGE_C] == x->dim[IMAGE_C] && tensor_len(s) != tensor_len(x))
        return scale_channels(c->b, x, s, pt2_layer(c));
    return NULL;
}

struct pt2_value pt2_times(struct pt2_import *c, const struct pt2_value *x,
                           const struct pt2_value *y)
{
    struct operands o;
    struct tensor *t;

    if (!place_both(c, x, y, &o))
        return *x;
    t = scaled(c, &o);
    o.full.t = t ? t : binary(c, EXPR_MUL, &o, 1);
    return o.full;
}

void pt2_map_mul(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor_or_mask(c, "self"), *y;
    double number;
    struct pt2_value product;

    y = other(c, &number);
    if (c->why->len)
        return;
    if (y && (x->kind == PT2_VALUE_MASK || y->kind == PT2_VALUE_MASK)) {
        bool first = x->kind == PT2_VALUE_MASK;

        if (!pt2_mask_mul(c, first ? y : x, first ? x : y))
            pt2_refuse(c, "a random mask that is not drop path");
        return;
    }
    if (!y) {
        pt2_map_one(c, x, EXPR_SCALE_BY, number);
        return;
    }
    product = pt2_times(c, x, y);
    if (!c->why->len)
        pt2_result(c, product);
}

void pt2_map_div(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor_or_mask(c, "self"), *y;
    double number;
    struct operands o;

    y = other(c, &number);
    if (c->why->len)
        return;
    if (!y && number == 0)
        pt2_refuse(c, "a division by 0");
    else if (!y && x->kind == PT2_VALUE_MASK)
        (void)pt2_mask_div(c, x, number);
    else if (!y)
        pt2_map_one(c, x, EXPR_SCALE_BY, 1 / number);
    else if (place_both(c, x, y, &o))
        finish(c, &o, binary(c, EXPR_DIV, &o, 1));
}
