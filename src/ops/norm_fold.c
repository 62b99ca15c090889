#include "ops/norm_fold.h"

#include <math.h>

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"

static const struct attr norm_fold_attr_table[] = {
    ATTR_FLOAT(struct norm_fold_attrs, norm.eps, 9e-13, 1, "added to the variance"),
    ATTR_FLOAT(struct norm_fold_attrs, norm.momentum, 1e-9, 1, "weight of the new batch"),
    {0},
};

/* ---- the formulas ---- */

void norm_fold_forward(const struct norm_fold_size *s, const double *const *in,
                       double *const *out)
{
    const double *moments = in[NORM_FOLD_GRAM], *sum = in[NORM_FOLD_SUM];
    double m = s->count;

    for (int64_t k = 0; k < s->out; k++) {
        const double *w = in[NORM_FOLD_W] + k * s->in;
        double *product = out[NORM_FOLD_PRODUCT] + k * s->in;
        double mean = 0, var = 0, a;

        for (int64_t i = 0; i < s->in; i++) {
            product[i] = 0;
            for (int64_t j = 0; j < s->in; j++)
                product[i] +=
                    (moments[i * s->in + j] / m - sum[i] / m * (sum[j] / m)) * w[j];
            mean += w[i] * sum[i] / m;
            var += w[i] * product[i];
        }
        var = var < 0 ? 0 : var; /* rounding; NaN stays */
        a = in[NORM_FOLD_WEIGHT][k] / sqrt(var + s->eps);
        for (int64_t i = 0; i < s->in; i++)
            out[NORM_FOLD_FOLDED][k * s->in + i] = a * w[i];
        out[NORM_FOLD_SHIFT][k] = in[NORM_FOLD_BIAS][k] - a * mean;
        out[NORM_FOLD_MEAN][k] = mean;
        out[NORM_FOLD_VAR][k] = var;
    }
}

void norm_fold_backward(const struct norm_fold_size *s, const double *const *in,
                        double *const *out)
{
    const double *sum = in[NORM_FOLD_GRAD_SUM];
    double *dgram = out[NORM_FOLD_GRAD_DGRAM], *dsum = out[NORM_FOLD_GRAD_DSUM];

    for (int64_t i = 0; i < s->in; i++)
        dsum[i] = 0;
    for (int64_t i = 0; i < s->in * s->in; i++)
        dgram[i] = 0;
    for (int64_t k = 0; k < s->out; k++) {
        const double *w = in[NORM_FOLD_GRAD_W] + k * s->in;
        const double *dfolded = in[NORM_FOLD_GRAD_DFOLDED] + k * s->in;
        const double *product = in[NORM_FOLD_GRAD_PRODUCT] + k * s->in;
        double *dw = out[NORM_FOLD_GRAD_DW] + k * s->in;
        double mean = in[NORM_FOLD_GRAD_MEAN][k], q = in[NORM_FOLD_GRAD_DSHIFT][k];
        double rstd = 1 / sqrt(in[NORM_FOLD_GRAD_VAR][k] + s->eps);
        double a = in[NORM_FOLD_GRAD_WEIGHT][k] * rstd, dot = 0, b, c;

        for (int64_t i = 0; i < s->in; i++)
            dot += dfolded[i] * w[i];
        dot = (dot - q * mean) * rstd;
        b = -a * dot * rstd / s->count;
        c = -a * q / s->count - b * mean;
        out[NORM_FOLD_GRAD_DWEIGHT][k] = dot;
        out[NORM_FOLD_GRAD_DBIAS][k] = q;
        for (int64_t i = 0; i < s->in; i++) {
            dw[i] =
                a * dfolded[i] + b * s->count * product[i] - a * q / s->count * sum[i];
            dsum[i] += c * w[i];
            for (int64_t j = 0; j < s->in; j++)
                dgram[i * s->in + j] += b / 2 * w[i] * w[j];
        }
    }
}

/* ---- the ops ---- */

static struct norm_fold_size size_of(const struct node *n)
{
    const struct norm_fold_attrs *a = n->attrs;
    const struct tensor *w = n->in[NORM_FOLD_W];

    return (struct norm_fold_size){w->dim[WEIGHT_O], w->dim[WEIGHT_I], (double)a->count,
                                   (double)a->norm.eps};
}

static bool is_matrix(const struct tensor *t, int64_t rows, int64_t columns)
{
    return t->ndim == 2 && t->dim[0] == rows && t->dim[1] == columns;
}

static const char *weights_check(const struct node *n)
{
    const struct norm_fold_attrs *a = n->attrs;
    const struct tensor *w = n->in[NORM_FOLD_W];

    if (!tensor_is_image(w) || w->dim[WEIGHT_H] != 1 || w->dim[WEIGHT_W] != 1)
        return "not the weights of a 1x1 convolution";
    return a->count < 2 ? "training needs more than one element in each channel" : NULL;
}

static const char *norm_fold_shape(struct node *n)
{
    const char *why = weights_check(n);
    const struct tensor *w = n->in[NORM_FOLD_W];
    int64_t dim[] = {w->dim[WEIGHT_O], w->dim[WEIGHT_I]};

    if (why)
        return why;
    if (!is_matrix(n->in[NORM_FOLD_GRAM], dim[1], dim[1]) ||
        !tensor_is_vector(n->in[NORM_FOLD_SUM], dim[1]) ||
        !tensor_is_vector(n->in[NORM_FOLD_WEIGHT], dim[0]) ||
        !tensor_is_vector(n->in[NORM_FOLD_BIAS], dim[0]))
        return "the statistics or the vectors do not fit the weights";
    tensor_like(n->out[NORM_FOLD_FOLDED], w);
    for (int i = NORM_FOLD_SHIFT; i <= NORM_FOLD_VAR; i++)
        tensor_plain(n->out[i], DTYPE_F32, 1, dim);
    tensor_plain(n->out[NORM_FOLD_PRODUCT], DTYPE_F32, 2, dim);
    return NULL;
}

static void norm_fold_grad(struct builder *b, const struct node *n)
{
    struct tensor *in[] = {
        [NORM_FOLD_GRAD_W] = n->in[NORM_FOLD_W],
        [NORM_FOLD_GRAD_WEIGHT] = n->in[NORM_FOLD_WEIGHT],
        [NORM_FOLD_GRAD_SUM] = n->in[NORM_FOLD_SUM],
        [NORM_FOLD_GRAD_MEAN] = n->out[NORM_FOLD_MEAN],
        [NORM_FOLD_GRAD_VAR] = n->out[NORM_FOLD_VAR],
        [NORM_FOLD_GRAD_PRODUCT] = n->out[NORM_FOLD_PRODUCT],
        [NORM_FOLD_GRAD_DFOLDED] = grad_of(b, n->out[NORM_FOLD_FOLDED]),
        [NORM_FOLD_GRAD_DSHIFT] = grad_of(b, n->out[NORM_FOLD_SHIFT]),
    };
    static const int slot[] = {
        [NORM_FOLD_GRAD_DW] = NORM_FOLD_W,
        [NORM_FOLD_GRAD_DWEIGHT] = NORM_FOLD_WEIGHT,
        [NORM_FOLD_GRAD_DBIAS] = NORM_FOLD_BIAS,
        [NORM_FOLD_GRAD_DGRAM] = NORM_FOLD_GRAM,
        [NORM_FOLD_GRAD_DSUM] = NORM_FOLD_SUM,
    };
    struct tensor **out =
        node(b, &op_norm_fold_grad, n->layer, n->attrs, in, 8)->producer->out;

    for (int i = 0; i < n->nin; i++)
        if (grad_wanted(n->in[slot[i]]))
            grad_add(b, n->in[slot[i]], out[i]);
}

/* The product with the covariance; a few per weight besides. */
static int64_t norm_fold_flops(const struct node *n)
{
    struct norm_fold_size s = size_of(n);

    return s.out * s.in * (2 * s.in + 5) + 5 * s.in * s.in;
}

/* Scratch for doubles of all inputs and outputs. */
static size_t norm_fold_scratch(const struct node *n)
{
    int64_t len = 0;

    for (int i = 0; i < n->nin; i++)
        len += tensor_len(n->in[i]);
    for (int i = 0; i < n->nout; i++)
        len += tensor_len(n->out[i]);
    return (size_t)len * sizeof(double);
}

/* Runs the formulas on copies of the step's arrays in double. */
static void run_in_double(const struct step *s,
                          void (*formulas)(const struct norm_fold_size *,
                                           const double *const *, double *const *))
{
    const struct node *n = s->node;
    struct norm_fold_size size = size_of(n);
    double *ptr = s->workspace, *in[8], *out[5];

    for (int i = 0; i < n->nin; i++) {
        in[i] = ptr;
        for (int64_t k = 0; k < tensor_len(n->in[i]); k++)
            *ptr++ = (double)((const float *)s->in[i])[k];
    }
    for (int i = 0; i < n->nout; i++) {
        out[i] = ptr;
        ptr += tensor_len(n->out[i]);
    }
    formulas(&size, (const double *const *)in, out);
    for (int i = 0; i < n->nout; i++)
        for (int64_t k = 0; s->out[i] && k < tensor_len(n->out[i]); k++)
            ((float *)s->out[i])[k] = (float)out[i][k];
}

static void norm_fold_ref(const struct step *s)
{
    run_in_double(s, norm_fold_forward);
}

const struct op op_norm_fold = {
    .name = "norm_fold",
    .attrs = norm_fold_attr_table,
    .attrs_size = sizeof(struct norm_fold_attrs),
    .nout = 5,
    .precision = PRECISION_HALF,
    .f32_in = ~0u,
    .f32_out = ~(1u << NORM_FOLD_FOLDED),
    .shape = norm_fold_shape,
    .grad = norm_fold_grad,
    .flops = norm_fold_flops,
    .ref = norm_fold_ref,
    .ref_scratch = norm_fold_scratch,
};

static const char *norm_fold_grad_shape(struct node *n)
{
    const char *why = weights_check(n);
    const struct tensor *w = n->in[NORM_FOLD_GRAD_W];
    int64_t dim[] = {w->dim[WEIGHT_O], w->dim[WEIGHT_I]}, square[] = {dim[1], dim[1]};

    if (why)
        return why;
    if (!tensor_same(n->in[NORM_FOLD_GRAD_DFOLDED], w) ||
        !is_matrix(n->in[NORM_FOLD_GRAD_PRODUCT], dim[0], dim[1]) ||
        !tensor_is_vector(n->in[NORM_FOLD_GRAD_SUM], dim[1]) ||
        !tensor_is_vector(n->in[NORM_FOLD_GRAD_DSHIFT], dim[0]))
        return "the gradients do not fit the weights";
    tensor_like(n->out[NORM_FOLD_GRAD_DW], w);
    tensor_plain(n->out[NORM_FOLD_GRAD_DWEIGHT], DTYPE_F32, 1, dim);
    tensor_plain(n->out[NORM_FOLD_GRAD_DBIAS], DTYPE_F32, 1, dim);
    tensor_plain(n->out[NORM_FOLD_GRAD_DGRAM], DTYPE_F32, 2, square);
    tensor_plain(n->out[NORM_FOLD_GRAD_DSUM], DTYPE_F32, 1, square);
    return NULL;
}

static int64_t norm_fold_grad_flops(const struct node *n)
{
    struct norm_fold_size s = size_of(n);

    return s.out * s.in * (2 * s.in + 10);
}

static void norm_fold_grad_ref(const struct step *s)
{
    run_in_double(s, norm_fold_backward);
}

const struct op op_norm_fold_grad = {
    .name = "norm_fold_grad",
    .attrs = norm_fold_attr_table,
    .attrs_size = sizeof(struct norm_fold_attrs),
    .nout = 5,
    .precision = PRECISION_F32,
    .shape = norm_fold_grad_shape,
    .flops = norm_fold_grad_flops,
    .ref = norm_fold_grad_ref,
    .ref_scratch = norm_fold_scratch,
};
