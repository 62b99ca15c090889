/*
 * Normalization: statistics and their parts. The shape of the mean determines the
 * reduction: [1,C,1,1] for batch, [N,1,1,1] for layer, [N,C,1,1] for instance norm.
 */
#include <math.h>
#include <string.h>

#include "tests/emulator/cudnn/run.h"

static double *zeros(int64_t n)
{
    double *p = value_memory(sizeof(*p) * (size_t)n);

    memset(p, 0, sizeof(*p) * (size_t)n);
    return p;
}

static double number(const struct value *x)
{
    return x ? (double)x->v[0] : 0;
}

/* sum of x and of x^2, per channel */
void run_gen_stats(const struct run *r, const struct op *op)
{
    const struct value *x = run_in(r, op, STATS_X);
    struct value *sum = run_out(r, op, STATS_SUM), *sq = run_out(r, op, STATS_SQSUM);
    double *s = zeros(sum->count), *q = zeros(sum->count);
    struct walk w;

    walk_start(&w, x, sum, NULL, NULL);
    do {
        double v = (double)x->v[w.i];

        s[w.offset[0]] += v;
        q[w.offset[0]] += v * v;
    } while (walk_next(&w));
    for (int64_t i = 0; i < sum->count; i++) {
        sum->v[i] = (float)s[i];
        sq->v[i] = (float)q[i];
    }
}

static void put(struct value *x, int64_t i, double v)
{
    if (x)
        x->v[i] = (float)v;
}

/* (1 - factor) old + factor new */
static void put_running(struct value *dst, const struct value *old, double factor,
                        int64_t i, double v)
{
    if (dst && old)
        dst->v[i] = (float)((1 - factor) * (double)old->v[i] + factor * v);
}

/* mean = sum / n, var = sqsum / n - mean^2; the running variance is the unbiased one */
void run_bn_finalize(const struct run *r, const struct op *op)
{
    const struct value *in[FIN_OLD_VAR + 1];
    struct value *out[FIN_EQ_BIAS + 1];
    double n, epsilon, factor;

    for (int s = FIN_SUM; s <= FIN_OLD_VAR; s++)
        in[s] = run_in(r, op, s);
    for (int s = FIN_NEW_MEAN; s <= FIN_EQ_BIAS; s++)
        out[s] = run_out(r, op, s);
    n = number(in[FIN_COUNT]);
    epsilon = number(in[FIN_EPSILON]);
    factor = number(in[FIN_FACTOR]);
    for (int64_t i = 0; i < in[FIN_SUM]->count; i++) {
        double mean = (double)in[FIN_SUM]->v[i] / n;
        double var = (double)in[FIN_SQSUM]->v[i] / n - mean * mean;
        double invstd = 1 / sqrt(var + epsilon);
        double scale = (double)in[FIN_SCALE]->v[i] * invstd;

        put(out[FIN_MEAN], i, mean);
        put(out[FIN_INVSTD], i, invstd);
        put(out[FIN_EQ_SCALE], i, scale);
        put(out[FIN_EQ_BIAS], i, (double)in[FIN_BIAS]->v[i] - mean * scale);
        put_running(out[FIN_NEW_MEAN], in[FIN_OLD_MEAN], factor, i, mean);
        put_running(out[FIN_NEW_VAR], in[FIN_OLD_VAR], factor, i, var * n / (n - 1));
    }
}

/*
 * dscale = sum dy xhat, dbias = sum dy, and the factors of dx = A dy + B x + C, where
 * dx = scale invstd (dy - dbias / n - xhat dscale / n).
 */
void run_bn_weights(const struct run *r, const struct op *op)
{
    const struct value *x = run_in(r, op, BNW_X), *dy = run_in(r, op, BNW_DY);
    const struct value *mean = run_in(r, op, BNW_MEAN);
    const struct value *invstd = run_in(r, op, BNW_INVSTD);
    const struct value *scale = run_in(r, op, BNW_SCALE);
    struct value *out[BNW_EQ_BIAS + 1];
    double *ds = zeros(mean->count), *db = zeros(mean->count);
    double n = (double)(x->count / mean->count);
    struct walk w;

    for (int s = BNW_DSCALE; s <= BNW_EQ_BIAS; s++)
        out[s] = run_out(r, op, s);
    walk_start(&w, x, mean, dy, NULL);
    do {
        double d = (double)dy->v[w.offset[1]];

        db[w.offset[0]] += d;
        ds[w.offset[0]] += d * ((double)x->v[w.i] - (double)mean->v[w.offset[0]]) *
                           (double)invstd->v[w.offset[0]];
    } while (walk_next(&w));
    for (int64_t i = 0; i < mean->count; i++) {
        double is = (double)invstd->v[i], a = (double)scale->v[i] * is;
        double b = -a * is * ds[i] / n;

        put(out[BNW_DSCALE], i, ds[i]);
        put(out[BNW_DBIAS], i, db[i]);
        put(out[BNW_EQ_DY], i, a);
        put(out[BNW_EQ_X], i, b);
        put(out[BNW_EQ_BIAS], i, -a * db[i] / n - b * (double)mean->v[i]);
    }
}

/* Mean and inverse standard deviation of the training pass, and the running ones. */
static void statistics(const struct run *r, const struct op *op, const struct value *x,
                       struct value *mean, struct value *invstd)
{
    const struct value *old_mean = run_in(r, op, NORM_OLD_MEAN);
    const struct value *old_var = run_in(r, op, NORM_OLD_VAR);
    struct value *new_mean = run_out(r, op, NORM_NEW_MEAN);
    struct value *new_var = run_out(r, op, NORM_NEW_VAR);
    double *m = zeros(mean->count), *var = zeros(mean->count);
    double n = (double)(x->count / mean->count);
    double epsilon = number(run_in(r, op, NORM_EPSILON));
    double factor = number(run_in(r, op, NORM_FACTOR));
    struct walk w;

    walk_start(&w, x, mean, NULL, NULL);
    do
        m[w.offset[0]] += (double)x->v[w.i] / n;
    while (walk_next(&w));
    walk_start(&w, x, mean, NULL, NULL);
    do {
        double d = (double)x->v[w.i] - m[w.offset[0]];

        var[w.offset[0]] += d * d / n;
    } while (walk_next(&w));
    for (int64_t i = 0; i < mean->count; i++) {
        put(mean, i, m[i]);
        put(invstd, i, 1 / sqrt(var[i] + epsilon));
        put_running(new_mean, old_mean, factor, i, m[i]);
        put_running(new_var, old_var, factor, i, var[i] * n / (n - 1));
    }
}

/* y = (x - mean) invstd scale + bias */
void run_norm_forward(const struct run *r, const struct op *op)
{
    const struct value *x = run_in(r, op, NORM_X), *scale = run_in(r, op, NORM_SCALE);
    const struct value *bias = run_in(r, op, NORM_BIAS), *mean, *invstd;
    struct value *y = run_out(r, op, NORM_Y);
    struct walk w, v;

    if (op->phase == CUDNN_NORM_FWD_INFERENCE) {
        mean = run_in(r, op, NORM_MEAN);
        invstd = run_in(r, op, NORM_INVSTD);
    } else {
        struct value *m = run_out(r, op, NORM_MEAN), *i = run_out(r, op, NORM_INVSTD);

        statistics(r, op, x, m, i);
        mean = m;
        invstd = i;
    }
    walk_start(&w, x, mean, invstd, scale);
    walk_start(&v, x, bias, NULL, NULL);
    do {
        double z = ((double)x->v[w.i] - (double)mean->v[w.offset[0]]) *
                   (double)invstd->v[w.offset[1]] * (double)scale->v[w.offset[2]];

        y->v[w.i] = (float)(z + (bias ? (double)bias->v[v.offset[0]] : 0));
        (void)walk_next(&v);
    } while (walk_next(&w));
}

/*
 * dscale = sum dy xhat, dbias = sum dy, each over the broadcast dimensions of scale; dx =
 * invstd (g - mean(g) - xhat mean(g xhat)) with g = dy scale and the means over the
 * dimensions of the statistics.
 */
void run_norm_backward(const struct run *r, const struct op *op)
{
    const struct value *x = run_in(r, op, NORM_X), *dy = run_in(r, op, NORM_DY);
    const struct value *scale = run_in(r, op, NORM_SCALE);
    const struct value *mean = run_in(r, op, NORM_MEAN);
    const struct value *invstd = run_in(r, op, NORM_INVSTD);
    struct value *dx = run_out(r, op, NORM_DX), *dscale = run_out(r, op, NORM_DSCALE);
    struct value *dbias = run_out(r, op, NORM_DBIAS);
    double *ds = zeros(dscale->count), *db = zeros(dscale->count);
    double *mg = zeros(mean->count), *mx = zeros(mean->count);
    double n = (double)(x->count / mean->count);

    for (int pass = 0; pass < 2; pass++) {
        struct walk w;

        walk_start(&w, x, mean, scale, NULL); /* dy is laid out as x */
        do {
            double is = (double)invstd->v[w.offset[0]], d = (double)dy->v[w.i];
            double hat = ((double)x->v[w.i] - (double)mean->v[w.offset[0]]) * is;
            double g = d * (double)scale->v[w.offset[1]];

            if (pass) {
                dx->v[w.i] = (float)(is * (g - mg[w.offset[0]] - hat * mx[w.offset[0]]));
                continue;
            }
            ds[w.offset[1]] += d * hat;
            db[w.offset[1]] += d;
            mg[w.offset[0]] += g / n;
            mx[w.offset[0]] += g * hat / n;
        } while (walk_next(&w));
    }
    for (int64_t i = 0; i < dscale->count; i++) {
        put(dscale, i, ds[i]);
        put(dbias, i, db[i]);
    }
}
