/* Constants: numbers that are computed, element by element or over dims. */
#include <math.h>
#include <string.h>

#include "pt2/fold.h"

/* ---- elements ---- */

#define MATH(NAME, formula)                                                              \
    static double NAME##_of(const double *x, int dtype)                                  \
    {                                                                                    \
        (void)dtype;                                                                     \
        return formula;                                                                  \
    }
MATH(neg, -x[0])
MATH(absolute, fabs(x[0]))
MATH(sign, (x[0] > 0) - (x[0] < 0))
MATH(exponential, exp(x[0]))
MATH(logarithm, log(x[0]))
MATH(log2, log2(x[0]))
MATH(log1p, log1p(x[0]))
MATH(sine, sin(x[0]))
MATH(cosine, cos(x[0]))
MATH(root, sqrt(x[0]))
MATH(rsqrt, 1 / sqrt(x[0]))
MATH(reciprocal, 1 / x[0])
MATH(floor, floor(x[0]))
MATH(ceil, ceil(x[0]))
MATH(logical_not, x[0] == 0)
MATH(sigmoid, 1 / (1 + exp(-x[0])))
MATH(tangent, tanh(x[0]))
MATH(relu, x[0] > 0 ? x[0] : 0)
MATH(sub, x[0] - x[1])
MATH(rsub, x[1] - x[0])
MATH(mul, x[0] * x[1])
MATH(div, x[0] / x[1])
MATH(floor_divide, floor(x[0] / x[1]))
MATH(remainder, x[0] - floor(x[0] / x[1]) * x[1])
MATH(add, x[0] + x[1])
MATH(power, pow(x[0], x[1]))
MATH(maximum, fmax(x[0], x[1]))
MATH(minimum, fmin(x[0], x[1]))
MATH(eq, x[0] == x[1])
MATH(ne, x[0] != x[1])
MATH(lt, x[0] < x[1])
MATH(le, x[0] <= x[1])
MATH(gt, x[0] > x[1])
MATH(ge, x[0] >= x[1])
MATH(both, x[0] != 0 && x[1] != 0)
MATH(either, x[0] != 0 || x[1] != 0)
MATH(one_of, (x[0] != 0) != (x[1] != 0))
MATH(where, x[0] != 0 ? x[1] : x[2])
MATH(masked_fill, x[1] != 0 ? x[2] : x[0])
MATH(second, x[1])

static double bitwise_not_of(const double *x, int dtype)
{
    return dtype == PT2_BOOL ? x[0] == 0 : -x[0] - 1;
}

/* An operand: a constant, or a number as one without dims. */
static struct pt2_value operand(struct pt2_import *c, const char *name)
{
    struct pt2_value v;

    if (pt2_is_tensor(c, name))
        return pt2_fold_operand(c, name);
    v = pt2_host_new(c, PT2_F64, 0, NULL);
    v.host->data[0] = pt2_number(c, name, 0);
    return v;
}

/* Applies a function to n operands that broadcast. */
static void apply(struct pt2_import *c, pt2_fold_math *math, int n, struct pt2_value *v)
{
    int64_t dim[PT2_DIMS];
    int ndim = 0, dtype = v[0].host->dtype;
    struct pt2_value y;

    for (int i = 0; i < n; i++)
        ndim = v[i].ndim > ndim ? v[i].ndim : ndim;
    for (int d = 0; d < ndim; d++) {
        dim[d] = 1;
        for (int i = 0; i < n; i++) {
            int pos = d - (ndim - v[i].ndim);

            if (pos >= 0 && v[i].dim[pos] != 1)
                dim[d] = v[i].dim[pos];
        }
    }
    for (int i = 0; i < n; i++)
        if (!pt2_value_expand(&v[i], ndim, dim)) {
            pt2_refuse(c, "its operands do not broadcast");
            return;
        }
    y = pt2_host_new(c, pt2_fold_dtype(c), ndim, dim);
    for (int64_t i = 0; !c->why->len && i < y.host->len; i++) {
        double x[3];

        for (int k = 0; k < n; k++)
            x[k] = *pt2_host_at(&v[k], i);
        y.host->data[i] = pt2_host_round(math(x, dtype), y.host->dtype);
    }
    pt2_fold_result(c, y);
}

static void fold_one(struct pt2_import *c, const struct pt2_fold_row *row)
{
    struct pt2_value v = pt2_fold_operand(c, pt2_has(c, "input") ? "input" : "self");

    if (!c->why->len)
        apply(c, row->math, 1, &v);
}

/* A function of self and other, or of self and exponent, with alpha or rounding. */
static void fold_two(struct pt2_import *c, const struct pt2_fold_row *row)
{
    static const char *const names[] = {"other", "exponent", "src"};
    const char *name = "other";
    struct pt2_value v[2];
    double alpha = pt2_number(c, "alpha", 1);
    const char *rounding = pt2_text(c, "rounding_mode", "");

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (pt2_has(c, names[i]))
            name = names[i];
    (void)pt2_flag(c, "non_blocking", false);
    v[0] = operand(c, "self");
    v[1] = operand(c, name);
    if (!strcmp(rounding, "trunc"))
        pt2_refuse(c, "a division that rounds toward zero");
    if (!strncmp(row->name, "bitwise", 7) && v[0].host->dtype != PT2_BOOL)
        pt2_refuse(c, "bits of integers");
    if (c->why->len)
        return;
    if (alpha != 1) {
        int order[PT2_DIMS];

        for (int d = 0; d < v[1].ndim; d++)
            order[d] = d;
        pt2_host_store(c, &v[1], order);
        for (int64_t i = 0; i < v[1].host->len; i++)
            v[1].host->data[i] *= alpha;
    }
    apply(c, *rounding ? floor_divide_of : row->math, 2, v);
}

static void fold_where(struct pt2_import *c, const struct pt2_fold_row *row)
{
    struct pt2_value v[3];

    v[0] = operand(c, "condition");
    v[1] = operand(c, "self");
    v[2] = operand(c, "other");
    if (!c->why->len)
        apply(c, row->math, 3, v);
}

static void fold_masked_fill(struct pt2_import *c, const struct pt2_fold_row *row)
{
    struct pt2_value v[3];

    v[0] = operand(c, "self");
    v[1] = operand(c, "mask");
    v[2] = operand(c, "value");
    if (!c->why->len)
        apply(c, row->math, 3, v);
}

static void fold_clamp(struct pt2_import *c, const struct pt2_fold_row *row)
{
    struct pt2_value v[3];

    (void)row;
    v[0] = operand(c, "self");
    if (pt2_has(c, "max")) {
        v[1] = operand(c, "max");
        if (pt2_has(c, "min"))
            pt2_refuse(c, "a constant with two limits");
        apply(c, minimum_of, 2, v);
        return;
    }
    v[1] = operand(c, "min");
    apply(c, maximum_of, 2, v);
}

/* Writes a number, or zeros, to all elements. */
static void fold_fill(struct pt2_import *c, const struct pt2_fold_row *row)
{
    struct pt2_value v[2];

    v[0] = pt2_fold_operand(c, "self");
    v[1] = operand(c, "value");
    if (!c->why->len)
        apply(c, row->math, 2, v);
}

/* ---- sums over dims ---- */

enum { SUM, MEAN, MOST, LEAST, PRODUCT, ANY, ALL };

static double start_of(int what)
{
    return what == MOST      ? -INFINITY
           : what == LEAST   ? INFINITY
           : what == PRODUCT ? 1
           : what == ALL     ? 1
                             : 0;
}

static double joined(int what, double y, double x)
{
    switch (what) {
    case MOST:
        return fmax(y, x);
    case LEAST:
        return fmin(y, x);
    case PRODUCT:
        return y * x;
    case ANY:
        return y != 0 || x != 0;
    case ALL:
        return y != 0 && x != 0;
    default:
        return y + x;
    }
}

static void fold_reduce(struct pt2_import *c, const struct pt2_fold_row *row)
{
    struct pt2_value x = pt2_fold_operand(c, "self"), y, all;
    int64_t dims[PT2_DIMS], kept[PT2_DIMS];
    int n = pt2_ints(c, "dim", dims), what = (int)row->number;
    bool keep = pt2_flag(c, "keepdim", false), reduced[PT2_DIMS] = {false};
    int64_t count = 1;

    pt2_ignore(c, "dtype");
    for (int i = 0; i < n; i++)
        reduced[pt2_dim(c, dims[i], x.ndim)] = true;
    for (int d = 0; d < x.ndim; d++) {
        reduced[d] = reduced[d] || n == 0;
        kept[d] = reduced[d] ? 1 : x.dim[d];
        count *= reduced[d] ? x.dim[d] : 1;
    }
    y = pt2_host_new(c, pt2_fold_dtype(c), x.ndim, kept);
    all = y;
    if (c->why->len || !pt2_value_expand(&all, x.ndim, x.dim))
        return;
    for (int64_t i = 0; i < y.host->len; i++)
        y.host->data[i] = start_of(what);
    for (int64_t i = 0; i < pt2_value_len(&x); i++) {
        double *dst = pt2_host_at(&all, i);

        *dst = joined(what, *dst, *pt2_host_at(&x, i));
    }
    for (int64_t i = 0; i < y.host->len; i++)
        y.host->data[i] = pt2_host_round(
            y.host->data[i] / (what == MEAN ? (double)count : 1), y.host->dtype);
    for (int d = x.ndim - 1; d >= 0 && !keep; d--)
        if (reduced[d]) {
            y.ndim--;
            memmove(&y.dim[d], &y.dim[d + 1], (size_t)(y.ndim - d) * sizeof(*y.dim));
            memmove(&y.stride[d], &y.stride[d + 1],
                    (size_t)(y.ndim - d) * sizeof(*y.stride));
        }
    pt2_fold_result(c, y);
}

static void fold_cumsum(struct pt2_import *c, const struct pt2_fold_row *row)
{
    struct pt2_value x = pt2_fold_operand(c, "self"), y;
    int d = pt2_dim(c, pt2_int(c, "dim", 0), x.ndim);

    (void)row;
    pt2_ignore(c, "dtype");
    y = pt2_host_new(c, pt2_fold_dtype(c), x.ndim, x.dim);
    for (int64_t i = 0; !c->why->len && i < y.host->len; i++) {
        int64_t before = i - y.stride[d];

        y.host->data[i] = *pt2_host_at(&x, i);
        if (i / y.stride[d] % y.dim[d])
            y.host->data[i] += y.host->data[before];
        y.host->data[i] = pt2_host_round(y.host->data[i], y.host->dtype);
    }
    pt2_fold_result(c, y);
}

/* clang-format off */
const struct pt2_fold_row pt2_fold_numbers[] = {
    {"neg", fold_one, .math = neg_of}, {"abs", fold_one, .math = absolute_of}, {"sign", fold_one, .math = sign_of},
    {"exp", fold_one, .math = exponential_of}, {"log", fold_one, .math = logarithm_of},
    {"log2", fold_one, .math = log2_of}, {"log1p", fold_one, .math = log1p_of},
    {"sin", fold_one, .math = sine_of}, {"cos", fold_one, .math = cosine_of}, {"sqrt", fold_one, .math = root_of},
    {"rsqrt", fold_one, .math = rsqrt_of}, {"reciprocal", fold_one, .math = reciprocal_of},
    {"floor", fold_one, .math = floor_of}, {"ceil", fold_one, .math = ceil_of},
    {"logical_not", fold_one, .math = logical_not_of}, {"bitwise_not", fold_one, .math = bitwise_not_of},
    {"sigmoid", fold_one, .math = sigmoid_of}, {"tanh", fold_one, .math = tangent_of},
    {"relu", fold_one, .math = relu_of},
    {"add", fold_two, .math = add_of}, {"sub", fold_two, .math = sub_of}, {"rsub", fold_two, .math = rsub_of},
    {"mul", fold_two, .math = mul_of}, {"div", fold_two, .math = div_of}, {"pow", fold_two, .math = power_of},
    {"floor_divide", fold_two, .math = floor_divide_of}, {"remainder", fold_two, .math = remainder_of},
    {"maximum", fold_two, .math = maximum_of}, {"minimum", fold_two, .math = minimum_of},
    {"eq", fold_two, .math = eq_of}, {"ne", fold_two, .math = ne_of}, {"lt", fold_two, .math = lt_of},
    {"le", fold_two, .math = le_of}, {"gt", fold_two, .math = gt_of}, {"ge", fold_two, .math = ge_of},
    {"logical_and", fold_two, .math = both_of}, {"bitwise_and", fold_two, .math = both_of},
    {"logical_or", fold_two, .math = either_of}, {"bitwise_or", fold_two, .math = either_of},
    {"logical_xor", fold_two, .math = one_of_of}, {"copy", fold_two, .math = second_of},
    {"where", fold_where, .math = where_of}, {"masked_fill", fold_masked_fill, .math = masked_fill_of},
    {"clamp", .fold = fold_clamp}, {"clamp_min", .fold = fold_clamp}, {"clamp_max", .fold = fold_clamp},
    {"fill", fold_fill, .math = second_of}, {"zero", fold_fill, .math = second_of},
    {"sum", fold_reduce, .number = SUM}, {"mean", fold_reduce, .number = MEAN},
    {"amax", fold_reduce, .number = MOST}, {"amin", fold_reduce, .number = LEAST},
    {"prod", fold_reduce, .number = PRODUCT}, {"any", fold_reduce, .number = ANY},
    {"all", fold_reduce, .number = ALL}, {"cumsum", .fold = fold_cumsum},
    {0},
};
/* clang-format on */
