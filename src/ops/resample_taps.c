#include "ops/resample_taps.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"

struct resample_taps resample_taps_new(int64_t n, int width)
{
    return (struct resample_taps){
        .n = n,
        .width = width,
        .first = xcalloc((size_t)n, sizeof(int)),
        .count = xcalloc((size_t)n, sizeof(int)),
        .weight = xcalloc((size_t)n * (size_t)width, sizeof(float)),
    };
}

void resample_taps_release(struct resample_taps *t)
{
    free(t->first);
    free(t->count);
    free(t->weight);
    *t = (struct resample_taps){0};
}

void resample_taps_add(struct resample_taps *t, int64_t o, int64_t i, double weight)
{
    if (t->count[o] == 0)
        t->first[o] = (int)i;
    t->count[o] = (int)i - t->first[o] + 1;
    t->weight[o * t->width + i - t->first[o]] += (float)weight;
}

/* Input positions per output position. */
static double step_of(const struct resample_axis *a)
{
    if (a->align_corners)
        return a->out > 1 ? (double)(a->in - 1) / (double)(a->out - 1) : 0;
    return a->scale > 0 ? 1 / a->scale : (double)a->in / (double)a->out;
}

static int64_t clamped(int64_t i, int64_t in)
{
    return i < 0 ? 0 : i < in ? i : in - 1;
}

/* Sets the position at or before output o, and returns the part of the way to the next. */
static double position(const struct resample_axis *a, int64_t o, int64_t *i)
{
    double step = step_of(a), x = step * (double)o, part;

    if (!a->align_corners)
        x = step * ((double)o + 0.5) - 0.5;
    if (x < 0 && a->mode != RESAMPLE_BICUBIC)
        x = 0;
    *i = (int64_t)floor(x) < a->in ? (int64_t)floor(x) : a->in - 1;
    part = x - (double)*i;
    return part < 0 ? 0 : part > 1 ? 1 : part;
}

static void linear_taps(const struct resample_axis *a, struct resample_taps *t, int64_t o)
{
    int64_t i;
    double part = position(a, o, &i);

    if (a->in == a->out) {
        resample_taps_add(t, o, o, 1);
        return;
    }
    resample_taps_add(t, o, i, 1 - part);
    resample_taps_add(t, o, clamped(i + 1, a->in), part);
}

/* Keys' cubic convolution at distance x. */
static double cubic(double x, double a)
{
    x = fabs(x);
    if (x < 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static void cubic_taps(const struct resample_axis *a, struct resample_taps *t, int64_t o)
{
    int64_t i;
    double part = position(a, o, &i);

    for (int k = -1; k <= 2; k++)
        resample_taps_add(t, o, clamped(i + k, a->in), cubic(part - k, -0.75));
}

/* In float, as PyTorch computes them whatever the type of the images. */
static void nearest_tap(const struct resample_axis *a, struct resample_taps *t, int64_t o)
{
    float step = (float)(a->scale > 0 ? 1 / a->scale : 0);
    float x;

    if (a->scale <= 0)
        step = (float)a->in / (float)a->out;
    x = a->mode == RESAMPLE_NEAREST ? (float)o * step
                                    : (float)(((double)o + 0.5) * (double)step);
    resample_taps_add(t, o, clamped((int64_t)floorf(x), a->in), 1);
}

/* The half width of the filter of antialias, in input positions. */
static double support(const struct resample_axis *a)
{
    double step = step_of(a);

    return (a->mode == RESAMPLE_BICUBIC ? 2 : 1) * (step > 1 ? step : 1);
}

static void smooth_taps(const struct resample_axis *a, struct resample_taps *t, int64_t o)
{
    double step = step_of(a), shrink = step > 1 ? 1 / step : 1, sum = 0;
    double center = step * ((double)o + 0.5);
    int64_t first = (int64_t)(center - support(a) + 0.5);
    int64_t end = (int64_t)(center + support(a) + 0.5);

    first = first > 0 ? first : 0;
    end = end < a->in ? end : a->in;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = first; i < end; i++) {
            double x = ((double)i - center + 0.5) * shrink;
            double w = a->mode == RESAMPLE_BICUBIC ? cubic(x, -0.5)
                       : fabs(x) < 1               ? 1 - fabs(x)
                                                   : 0;

            if (pass == 0)
                sum += w;
            else
                resample_taps_add(t, o, i, w / sum);
        }
}

struct resample_taps resample_taps_of(const struct resample_axis *a)
{
    bool nearest = a->mode == RESAMPLE_NEAREST || a->mode == RESAMPLE_NEAREST_EXACT;
    int width = a->antialias                  ? (int)ceil(support(a)) * 2 + 1
                : a->mode == RESAMPLE_BICUBIC ? 4
                : nearest                     ? 1
                                              : 2;
    struct resample_taps t = resample_taps_new(a->out, width);

    for (int64_t o = 0; o < a->out; o++)
        if (nearest)
            nearest_tap(a, &t, o);
        else if (a->antialias)
            smooth_taps(a, &t, o);
        else if (a->mode == RESAMPLE_BICUBIC)
            cubic_taps(a, &t, o);
        else
            linear_taps(a, &t, o);
    return t;
}

/* Positions ascend with the outputs, so the outputs that read a position are adjacent. */
struct resample_taps resample_taps_transposed(const struct resample_taps *t, int64_t in)
{
    int *reads = xcalloc((size_t)in, sizeof(*reads)), width = 1;
    struct resample_taps dst;

    for (int64_t o = 0; o < t->n; o++)
        for (int k = 0; k < t->count[o]; k++) {
            int n = ++reads[t->first[o] + k];

            width = n > width ? n : width;
        }
    free(reads);
    dst = resample_taps_new(in, width);
    for (int64_t o = 0; o < t->n; o++)
        for (int k = 0; k < t->count[o]; k++)
            resample_taps_add(&dst, t->first[o] + k, o,
                              (double)t->weight[o * t->width + k]);
    return dst;
}
