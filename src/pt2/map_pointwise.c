/* Functions of elements: sums and products that broadcast, activations, numbers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ops/activation.h"
#include "ops/add.h"
#include "ops/expr.h"
#include "ops/image.h"
#include "ops/layer_scale.h"
#include "ops/scale_channels.h"
#include "pt2/place.h"
#include "pt2/table.h"

/* ---- one operand ---- */

/* A function of the elements of x; `number` is the instruction's. */
static void map_one(struct pt2_import *c, const struct pt2_value *of,
                    enum expr_opcode opcode, double number)
{
    struct pt2_value x = *of;
    struct expr e;

    if (x.kind != PT2_VALUE_TENSOR)
        pt2_refuse(c, "its operand is no tensor");
    if (!pt2_dense(c, &x))
        return;
    e = expr_start(pt2_layer(c), 1, &x.t);
    x.t = expr_end(c->b, &e, expr_number(&e, opcode, 0, (float)number));
    pt2_result(c, x);
}

void pt2_map_activation(struct pt2_import *c)
{
    static const struct {
        const char *target, *name,
            *number; /* number: the name of its argument, or NULL */
        double by_default;
    } rows[] = {
        {"relu.", "relu", NULL, 0},
        {"relu6.", "relu", NULL, 6},
        {"leaky_relu", "leaky_relu", "negative_slope", 0.01},
        {"elu", "elu", "alpha", 1},
        {"sigmoid", "sigmoid", NULL, 0},
        {"tanh", "tanh", NULL, 0},
        {"softplus", "softplus", NULL, 0},
        {"silu", "silu", NULL, 0},
        {"hardsigmoid", "hardsigmoid", NULL, 0},
        {"hardswish", "hardswish", NULL, 0},
        {"mish", "mish", NULL, 0},
    };
    const struct pt2_value *x =
        pt2_has(c, "input") ? pt2_tensor(c, "input") : pt2_tensor(c, "self");
    char name[32];

    (void)snprintf(name, sizeof(name), "%s", c->node->target + strlen("aten."));
    for (char *p = name; *p; p++) /* relu_.default */
        if (p[0] == '_' && p[1] == '.')
            memmove(p, p + 1, strlen(p));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double m = rows[i].by_default;

        if (strncmp(name, rows[i].target, strlen(rows[i].target)) != 0)
            continue;
        if (rows[i].number)
            m = pt2_number(c, rows[i].number, m);
        if (!strcmp(rows[i].name, "softplus") &&
            (pt2_number(c, "beta", 1) != 1 || pt2_number(c, "threshold", 20) != 20))
            pt2_refuse(c, "a beta or threshold other than 1 and 20");
        if (!strcmp(rows[i].name, "elu") &&
            (pt2_number(c, "scale", 1) != 1 || pt2_number(c, "input_scale", 1) != 1))
            pt2_refuse(c, "a scale other than 1");
        map_one(c, x, activation_find(rows[i].name)->value, m);
        return;
    }
    pt2_refuse(c, "this activation is not supported");
}

void pt2_map_gelu(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "self");
    const char *how = pt2_text(c, "approximate", "none");
    bool tanh = !strcmp(how, "tanh");

    if (!tanh && strcmp(how, "none") != 0)
        pt2_refuse(c, "the approximation '%s'", how);
    map_one(c, x, tanh ? EXPR_GELU_TANH : EXPR_GELU, 0);
}

/* A limit of 0 below and a number above is a relu with a limit. */
void pt2_map_hardtanh(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "self");
    double low = pt2_number(c, "min_val", -1), high = pt2_number(c, "max_val", 1);

    if (low != 0 || !(high > 0))
        pt2_refuse(c, "limits of %g and %g", low, high);
    map_one(c, x, EXPR_RELU, high);
}

void pt2_map_clamp(struct pt2_import *c)
{
    struct pt2_value x = *pt2_tensor(c, "self");
    double low = pt2_number(c, "min", -INFINITY), high = pt2_number(c, "max", INFINITY);
    struct expr e;
    int v = 0;

    if (!pt2_dense(c, &x))
        return;
    if (!isfinite(low) && !isfinite(high)) {
        pt2_result_view(c, &x, x);
        return;
    }
    e = expr_start(pt2_layer(c), 1, &x.t);
    if (isfinite(low))
        v = expr_number(&e, EXPR_AT_LEAST, v, (float)low);
    if (isfinite(high))
        v = expr_number(&e, EXPR_AT_MOST, v, (float)high);
    x.t = expr_end(c->b, &e, v);
    pt2_result(c, x);
}

void pt2_map_pow(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "self");
    double n = pt2_number(c, "exponent", 1);

    map_one(c, x, n == 2 ? EXPR_SQUARE : EXPR_POWER, n);
}

void pt2_map_unary(struct pt2_import *c)
{
    static const struct {
        const char *target;
        enum expr_opcode opcode;
    } rows[] = {
        {"neg", EXPR_NEG},       {"abs", EXPR_ABS},
        {"square", EXPR_SQUARE}, {"sqrt", EXPR_SQRT},
        {"rsqrt", EXPR_RSQRT},   {"exp", EXPR_EXP},
        {"log", EXPR_LOG},       {"sin", EXPR_SIN},
        {"cos", EXPR_COS},       {"reciprocal", EXPR_DIV_INTO},
    };
    const struct pt2_value *x = pt2_tensor(c, "self");
    const char *name = c->node->target + strlen("aten.");
    size_t len = strcspn(name, "."), i = 0;

    len -= len && name[len - 1] == '_';
    for (; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strlen(rows[i].target) == len && !strncmp(rows[i].target, name, len))
            break;
    if (i == sizeof(rows) / sizeof(rows[0]))
        pt2_refuse(c, "this function is not supported");
    else
        map_one(c, x, rows[i].opcode, rows[i].opcode == EXPR_DIV_INTO ? 1 : 0);
}

/* ---- two operands that broadcast ---- */

/* Sets dim to the dims that a and b broadcast to. Returns their number, or -1. */
static int broadcast(const struct pt2_value *a, const struct pt2_value *b, int64_t *dim)
{
    int n = a->ndim > b->ndim ? a->ndim : b->ndim;

    for (int d = 0; d < n; d++) {
        int ad = d - (n - a->ndim), bd = d - (n - b->ndim);
        int64_t as = ad < 0 ? 1 : a->dim[ad], bs = bd < 0 ? 1 : b->dim[bd];

        if (as != bs && as != 1 && bs != 1)
            return -1;
        dim[d] = as == 1 ? bs : as;
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
                     const int *order, int64_t *all, int64_t *own)
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
            own[n - 1] *= part->dim[d];
        } else {
            all[n] = full->dim[d];
            own[n++] = part->dim[d];
        }
        before = whole;
    }
    return n;
}

/* Places the operand `part`, whose dims are those of `full` or 1. */
static bool place(struct pt2_import *c, struct operands *o, int full,
                  const struct pt2_value *of)
{
    struct pt2_value part = *of;
    int order[PT2_DIMS], n;
    int64_t all[PT2_DIMS] = {1}, own[PT2_DIMS] = {1};

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
            own[i] = part.dim[order[i]];
        o->t[1 - full] = pt2_view_of(c, part.t, LAYOUT_PLAIN, part.ndim, own);
        return true;
    }
    n = join_dims(&o->full, &part, order, all, own);
    if (n > TENSOR_DIMS) {
        pt2_refuse(c, "its operands broadcast over %d dims", n);
        return false;
    }
    o->t[full] = pt2_view_of(c, o->full.t, LAYOUT_PLAIN, n, all);
    o->t[1 - full] = pt2_view_of(c, part.t, LAYOUT_PLAIN, n, own);
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
    map_one(c, x, EXPR_ADD_BY, number);
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

void pt2_map_sub(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "self"), *y;
    double number, alpha = pt2_number(c, "alpha", 1);
    struct operands o;

    y = other(c, &number);
    if (!y)
        map_one(c, x, EXPR_ADD_BY, -alpha * number);
    else if (place_both(c, x, y, &o))
        finish(c, &o, binary(c, EXPR_SUB, &o, alpha));
}

void pt2_map_rsub(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "self");
    double number = pt2_number(c, "other", 0);

    if (pt2_number(c, "alpha", 1) != 1)
        pt2_refuse(c, "an alpha other than 1");
    map_one(c, x, EXPR_SUB_FROM, number);
}

void pt2_map_maximum(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "self"), *y = pt2_tensor(c, "other");
    bool most = strstr(c->node->target, "maximum") != NULL;
    struct operands o;

    if (!c->why->len && place_both(c, x, y, &o))
        finish(c, &o, binary(c, most ? EXPR_MAX : EXPR_MIN, &o, 1));
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

void pt2_map_mul(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor_or_mask(c, "self"), *y;
    double number;
    struct operands o;
    struct tensor *t;

    y = other(c, &number);
    if (c->why->len)
        return;
    if (y && (x->kind == PT2_VALUE_MASK || y->kind == PT2_VALUE_MASK)) {
        bool first = x->kind == PT2_VALUE_MASK;

        if (!pt2_mask_mul(c, first ? y : x, first ? x : y))
            pt2_refuse(c, "a random mask that is no drop path");
        return;
    }
    if (!y) {
        map_one(c, x, EXPR_SCALE_BY, number);
        return;
    }
    if (!place_both(c, x, y, &o))
        return;
    t = scaled(c, &o);
    finish(c, &o, t ? t : binary(c, EXPR_MUL, &o, 1));
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
        map_one(c, x, EXPR_SCALE_BY, 1 / number);
    else if (place_both(c, x, y, &o))
        finish(c, &o, binary(c, EXPR_DIV, &o, 1));
}
