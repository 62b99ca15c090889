/*
 * Image convolutions with groups: filters [K, C/g, R, S] for C channels. Output pixel o
 * reads input pixel o * stride - pre + tap * dilation; the mode "convolution" flips the
 * taps. Gradients are the exact transposes.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/cudnn/run.h"

struct geometry {
    const struct op *op;
    int64_t n, h, w, c;     /* input */
    int64_t oh, ow, k;      /* output */
    int64_t r, s;           /* filter */
    int64_t groups, cg, kg; /* channels and filters per group */
};

static struct geometry geometry(const struct op *op, const struct value *x,
                                const struct value *w, const struct value *y)
{
    struct geometry g = {
        .op = op,
        .n = x->dims[0],
        .c = x->dims[1],
        .h = x->dims[2],
        .w = x->dims[3],
        .k = y->dims[1],
        .oh = y->dims[2],
        .ow = y->dims[3],
        .r = w->dims[2],
        .s = w->dims[3],
        .cg = w->dims[1],
    };

    g.groups = g.c / g.cg;
    g.kg = g.k / g.groups;
    return g;
}

/* Returns the input row (d = 0) or column (d = 1) of a tap, which may be outside. */
static int64_t source(const struct op *op, int d, int64_t out, int64_t tap, int64_t taps)
{
    if (op->mode == CUDNN_CONVOLUTION)
        tap = taps - 1 - tap;
    return out * op->stride[d] - op->pre[d] + tap * op->dilation[d];
}

/* Returns float operands rounded as the engine reads them. */
static const float *operand(const struct run *r, const struct value *x)
{
    float *v;

    if (!r->tf32)
        return x->v;
    v = value_memory(sizeof(float) * (size_t)x->count);
    for (int64_t i = 0; i < x->count; i++)
        v[i] = value_tf32(x->v[i]);
    return v;
}

/* alpha * sum + beta * the old value; an engine that splits its sums varies the last bit
 * from run to run */
static float result(const struct run *r, const struct op *op, double sum, float before,
                    int64_t i)
{
    double y = op->alpha * sum;

    if (op->beta != 0)
        y += op->beta * (double)before;
    if (r->noise && ((uint32_t)i * 2654435761u ^ r->noise * 2246822519u) >> 31)
        y *= 1 + 1.2e-7;
    return (float)y;
}

/* filters as [R, S, C/g, K] */
static const float *by_tap(const struct geometry *g, const float *w)
{
    float *v = value_memory(sizeof(float) * (size_t)(g->k * g->r * g->s * g->cg));
    int64_t taps = g->r * g->s * g->cg;

    for (int64_t k = 0; k < g->k; k++)
        for (int64_t i = 0; i < taps; i++)
            v[i * g->k + k] = w[k * taps + i];
    return v;
}

static void add_scaled(double *restrict sum, const float *restrict v, float factor,
                       int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        sum[i] += (double)factor * (double)v[i];
}

/* sum[k] of output pixel (n, oh, ow) */
static void forward_pixel(const struct geometry *g, const float *x, const float *w,
                          const int64_t *o, double *sum)
{
    memset(sum, 0, sizeof(*sum) * (size_t)g->k);
    for (int64_t r = 0; r < g->r; r++) {
        int64_t ih = source(g->op, 0, o[1], r, g->r);

        for (int64_t s = 0; ih >= 0 && ih < g->h && s < g->s; s++) {
            int64_t iw = source(g->op, 1, o[2], s, g->s);
            const float *xp = x + ((o[0] * g->h + ih) * g->w + iw) * g->c;
            const float *wp = w + (r * g->s + s) * g->cg * g->k;

            if (iw < 0 || iw >= g->w)
                continue;
            for (int64_t c = 0; c < g->c; c++) {
                int64_t k = c / g->cg * g->kg;

                add_scaled(sum + k, wp + c % g->cg * g->k + k, xp[c], g->kg);
            }
        }
    }
}

static void forward(const struct run *run, const struct geometry *g, const float *x,
                    const float *w, float *y)
{
    double *sum = value_memory(sizeof(*sum) * (size_t)g->k);
    int64_t o[3], pos = 0;

    w = by_tap(g, w);
    for (o[0] = 0; o[0] < g->n; o[0]++)
        for (o[1] = 0; o[1] < g->oh; o[1]++)
            for (o[2] = 0; o[2] < g->ow; o[2]++) {
                forward_pixel(g, x, w, o, sum);
                for (int64_t k = 0; k < g->k; k++, pos++)
                    y[pos] = result(run, g->op, sum[k], y[pos], pos);
            }
}

/* Adds the contribution of one output row to the gradient of the image. */
static void backward_data_row(const struct geometry *g, const float *dy, const float *w,
                              int64_t n, int64_t oh, double *sum)
{
    for (int64_t ow = 0; ow < g->ow; ow++)
        for (int64_t r = 0; r < g->r; r++) {
            int64_t ih = source(g->op, 0, oh, r, g->r);

            for (int64_t s = 0; ih >= 0 && ih < g->h && s < g->s; s++) {
                int64_t iw = source(g->op, 1, ow, s, g->s);
                const float *d = dy + ((n * g->oh + oh) * g->ow + ow) * g->k;
                double *dst = sum + ((n * g->h + ih) * g->w + iw) * g->c;

                if (iw < 0 || iw >= g->w)
                    continue;
                for (int64_t k = 0; k < g->k; k++)
                    add_scaled(dst + k / g->kg * g->cg,
                               w + ((k * g->r + r) * g->s + s) * g->cg, d[k], g->cg);
            }
        }
}

static void backward_data(const struct run *run, const struct geometry *g,
                          const float *dy, const float *w, float *dx)
{
    int64_t count = g->n * g->h * g->w * g->c;
    double *sum = value_memory(sizeof(*sum) * (size_t)count);

    memset(sum, 0, sizeof(*sum) * (size_t)count);
    for (int64_t n = 0; n < g->n; n++)
        for (int64_t oh = 0; oh < g->oh; oh++)
            backward_data_row(g, dy, w, n, oh, sum);
    for (int64_t i = 0; i < count; i++)
        dx[i] = result(run, g->op, sum[i], dx[i], i);
}

static void backward_filter_row(const struct geometry *g, const float *x, const float *dy,
                                int64_t n, int64_t oh, double *sum)
{
    for (int64_t ow = 0; ow < g->ow; ow++)
        for (int64_t r = 0; r < g->r; r++) {
            int64_t ih = source(g->op, 0, oh, r, g->r);

            for (int64_t s = 0; ih >= 0 && ih < g->h && s < g->s; s++) {
                int64_t iw = source(g->op, 1, ow, s, g->s);
                const float *d = dy + ((n * g->oh + oh) * g->ow + ow) * g->k;
                const float *xp = x + ((n * g->h + ih) * g->w + iw) * g->c;

                if (iw < 0 || iw >= g->w)
                    continue;
                for (int64_t k = 0; k < g->k; k++)
                    add_scaled(sum + ((k * g->r + r) * g->s + s) * g->cg,
                               xp + k / g->kg * g->cg, d[k], g->cg);
            }
        }
}

static void backward_filter(const struct run *run, const struct geometry *g,
                            const float *x, const float *dy, float *dw)
{
    int64_t count = g->k * g->r * g->s * g->cg;
    double *sum = value_memory(sizeof(*sum) * (size_t)count);

    memset(sum, 0, sizeof(*sum) * (size_t)count);
    for (int64_t n = 0; n < g->n; n++)
        for (int64_t oh = 0; oh < g->oh; oh++)
            backward_filter_row(g, x, dy, n, oh, sum);
    for (int64_t i = 0; i < count; i++)
        dw[i] = result(run, g->op, sum[i], dw[i], i);
}

void run_convolution(const struct run *r, const struct op *op)
{
    int written =
        op->kind == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR ? CONV_Y
        : op->kind == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR
            ? CONV_X
            : CONV_W;
    struct value *out = run_out(r, op, written);
    const struct value *t[3];
    const float *v[3] = {NULL};
    struct geometry g;

    for (int s = 0; s < 3; s++) {
        t[s] = &r->value[op->slot[s]];
        if (s != written)
            v[s] = operand(r, run_in(r, op, s));
    }
    g = geometry(op, t[CONV_X], t[CONV_W], t[CONV_Y]);
    if (op->beta != 0)
        value_load(out, &r->tensor[op->slot[written]], r->memory[op->slot[written]]);
    if (written == CONV_Y)
        forward(r, &g, v[CONV_X], v[CONV_W], out->v);
    else if (written == CONV_X)
        backward_data(r, &g, v[CONV_Y], v[CONV_W], out->v);
    else
        backward_filter(r, &g, v[CONV_X], v[CONV_Y], out->v);
}
