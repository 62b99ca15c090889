/*
 * norm_fold and its gradient: matrices of C x C and K x C in fp32, ROWS rows of a product at
 * once; the covariance is subtracted, and rows are summed, in double.
 */
#include "ops/norm_fold.h"

#include <math.h>
#include <string.h>

#include "base/clones.h"
#include "base/half.h"
#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/image.h"

#ifndef __clang__
#pragma GCC optimize("O3") /* base/clones.h */
#endif

enum { ROWS = 4 };

struct job {
    const struct step *s;
    struct norm_fold_size size;
    float *cov, *product; /* forward */
    float *half_b, *c;    /* gradient */
};

static struct job job_of(const struct step *s)
{
    const struct norm_fold_attrs *a = s->node->attrs;
    const struct tensor *w = s->node->in[NORM_FOLD_W];

    return (struct job){
        s,    {w->dim[WEIGHT_O], w->dim[WEIGHT_I], (double)a->count, (double)a->norm.eps},
        NULL, NULL,
        NULL, NULL};
}

/* y [n][columns] = sum over l of a[i * ai + l * al] b [l][columns], n up to ROWS */
CLONES static void multiply(const float *a, int64_t ai, int64_t al, const float *b,
                            float *y, int64_t n, int64_t sums, int64_t columns)
{
    memset(y, 0, (size_t)(n * columns) * sizeof(*y));
    for (int64_t l = 0; l < sums; l++)
        for (int64_t i = 0; i < n; i++) {
            float v = a[i * ai + l * al];

            for (int64_t j = 0; j < columns; j++)
                y[i * columns + j] += v * b[l * columns + j];
        }
}

/* ---- forward ---- */

static void covariance_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const float *moments = j->s->in[NORM_FOLD_GRAM], *sum = j->s->in[NORM_FOLD_SUM];
    double m = j->size.count;
    int64_t in = j->size.in;

    for (int64_t i = lo; i < hi; i++)
        for (int64_t k = 0; k < in; k++)
            j->cov[i * in + k] = (float)((double)moments[i * in + k] / m -
                                         (double)sum[i] / m * ((double)sum[k] / m));
}

static void fold_row(const struct job *j, int64_t k)
{
    void *const *in = j->s->in, *const *out = j->s->out;
    int64_t n = j->size.in;
    const float *w = (const float *)in[NORM_FOLD_W] + k * n, *sum = in[NORM_FOLD_SUM];
    const float *product = j->product + k * n;
    float *f = out[NORM_FOLD_FOLDED];
    uint16_t *h = out[NORM_FOLD_FOLDED];
    bool half = j->s->out_tensor[NORM_FOLD_FOLDED]->dtype != DTYPE_F32;
    double mean = 0, var = 0, a;

    for (int64_t i = 0; i < n; i++) {
        mean += (double)w[i] * (double)sum[i];
        var += (double)w[i] * (double)product[i];
    }
    mean /= j->size.count;
    var = var < 0 ? 0 : var; /* NaN stays */
    a = (double)((const float *)in[NORM_FOLD_WEIGHT])[k] / sqrt(var + j->size.eps);
    for (int64_t i = 0; f && i < n; i++)
        if (half)
            h[k * n + i] = bf16_from_float((float)(a * (double)w[i]));
        else
            f[k * n + i] = (float)(a * (double)w[i]);
    if (out[NORM_FOLD_SHIFT])
        ((float *)out[NORM_FOLD_SHIFT])[k] =
            (float)((double)((const float *)in[NORM_FOLD_BIAS])[k] - a * mean);
    if (out[NORM_FOLD_MEAN])
        ((float *)out[NORM_FOLD_MEAN])[k] = (float)mean;
    if (out[NORM_FOLD_VAR])
        ((float *)out[NORM_FOLD_VAR])[k] = (float)var;
}

static void rows_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const float *w = j->s->in[NORM_FOLD_W];
    int64_t n = j->size.in;

    for (int64_t k = lo; k < hi; k += ROWS)
        multiply(w + k * n, n, 1, j->cov, j->product + k * n,
                 hi - k < ROWS ? hi - k : ROWS, n, n);
    for (int64_t k = lo; k < hi; k++)
        fold_row(j, k);
}

static const char *fold_claim(struct region *r, struct graph *g, struct node *n,
                              struct device *dev)
{
    const struct tensor *w;

    (void)g, (void)dev;
    if (n->op != &op_norm_fold)
        return "no folded batch norm";
    if (!cpu_dtype(n->out[NORM_FOLD_FOLDED]))
        return "fp32 and bf16 only";
    w = n->in[NORM_FOLD_W];
    region_claim_node(r, n);
    region_workspace(r, sizeof(float) * (size_t)(w->dim[WEIGHT_I] *
                                                 (w->dim[WEIGHT_I] + w->dim[WEIGHT_O])));
    return NULL;
}

static void fold_run(struct step *s, struct device *dev)
{
    struct job j = job_of(s);

    j.cov = s->workspace;
    j.product = s->out[NORM_FOLD_PRODUCT] ? (float *)s->out[NORM_FOLD_PRODUCT]
                                          : j.cov + j.size.in * j.size.in;
    cpu_for(dev, j.size.in, 1, covariance_part, &j);
    cpu_for(dev, j.size.out, ROWS, rows_part, &j);
}

const struct kernel cpu_norm_fold = {
    .name = "cpu norm_fold",
    .claim = fold_claim,
    .run = fold_run,
};

/* ---- gradient ---- */

static void grad_row(const struct job *j, int64_t k)
{
    void *const *in = j->s->in, *const *out = j->s->out;
    int64_t n = j->size.in;
    double m = j->size.count;
    const float *w = (const float *)in[NORM_FOLD_GRAD_W] + k * n;
    const float *dfolded = (const float *)in[NORM_FOLD_GRAD_DFOLDED] + k * n;
    const float *product = (const float *)in[NORM_FOLD_GRAD_PRODUCT] + k * n;
    const float *sum = in[NORM_FOLD_GRAD_SUM];
    float *dw = out[NORM_FOLD_GRAD_DW];
    double mean = (double)((const float *)in[NORM_FOLD_GRAD_MEAN])[k];
    double q = (double)((const float *)in[NORM_FOLD_GRAD_DSHIFT])[k];
    double var = (double)((const float *)in[NORM_FOLD_GRAD_VAR])[k];
    double rstd = 1 / sqrt(var + j->size.eps), dot = 0, b, all;
    double a = (double)((const float *)in[NORM_FOLD_GRAD_WEIGHT])[k] * rstd;

    for (int64_t i = 0; i < n; i++)
        dot += (double)dfolded[i] * (double)w[i];
    dot = (dot - q * mean) * rstd;
    b = -a * dot * rstd / m;
    all = -a * q / m;
    for (int64_t i = 0; dw && i < n; i++)
        dw[k * n + i] = (float)(a * (double)dfolded[i] + b * m * (double)product[i] +
                                all * (double)sum[i]);
    if (out[NORM_FOLD_GRAD_DWEIGHT])
        ((float *)out[NORM_FOLD_GRAD_DWEIGHT])[k] = (float)dot;
    if (out[NORM_FOLD_GRAD_DBIAS])
        ((float *)out[NORM_FOLD_GRAD_DBIAS])[k] = (float)q;
    j->half_b[k] = (float)(b / 2);
    j->c[k] = (float)(all - b * mean);
}

/* Also stores w with each row times half_b, after c, for the products with w. */
static void grad_rows_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const float *w = j->s->in[NORM_FOLD_GRAD_W];
    float *scaled = j->c + j->size.out;
    int64_t n = j->size.in;

    for (int64_t k = lo; k < hi; k++) {
        grad_row(j, k);
        for (int64_t i = 0; i < n; i++)
            scaled[k * n + i] = j->half_b[k] * w[k * n + i];
    }
}

static void dgram_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const float *w = j->s->in[NORM_FOLD_GRAD_W], *scaled = j->c + j->size.out;
    float *dgram = j->s->out[NORM_FOLD_GRAD_DGRAM],
          *dsum = j->s->out[NORM_FOLD_GRAD_DSUM];
    int64_t n = j->size.in;

    for (int64_t i = lo; dgram && i < hi; i += ROWS)
        multiply(scaled + i, 1, n, w, dgram + i * n, hi - i < ROWS ? hi - i : ROWS,
                 j->size.out, n);
    for (int64_t i = lo; dsum && i < hi; i++) {
        double sum = 0;

        for (int64_t k = 0; k < j->size.out; k++)
            sum += (double)j->c[k] * (double)w[k * n + i];
        dsum[i] = (float)sum;
    }
}

static const char *fold_grad_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *dev)
{
    const struct tensor *w;

    (void)g, (void)dev;
    if (n->op != &op_norm_fold_grad)
        return "not the gradient of a folded batch norm";
    w = n->in[NORM_FOLD_GRAD_W];
    region_claim_node(r, n);
    region_workspace(r,
                     sizeof(float) * (size_t)(w->dim[WEIGHT_O] * (w->dim[WEIGHT_I] + 2)));
    return NULL;
}

static void fold_grad_run(struct step *s, struct device *dev)
{
    struct job j = job_of(s);

    j.half_b = s->workspace;
    j.c = j.half_b + j.size.out;
    cpu_for(dev, j.size.out, 1, grad_rows_part, &j);
    cpu_for(dev, j.size.in, ROWS, dgram_part, &j);
}

const struct kernel cpu_norm_fold_grad = {
    .name = "cpu norm_fold_grad",
    .claim = fold_grad_claim,
    .run = fold_grad_run,
};
