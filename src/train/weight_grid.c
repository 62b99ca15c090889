#include "train/weight_grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* Where an output comes from: taps first, first + 1, ... n of them. */
struct taps {
    int64_t first, n;
    double *weight;
};

struct weight_grid weight_grid_of(int64_t rows)
{
    int64_t side = (int64_t)sqrt((double)rows);

    while (side * side > rows)
        side--;
    while ((side + 1) * (side + 1) <= rows)
        side++;
    return (struct weight_grid){rows - side * side, side};
}

/* Keys 1981: the kernel of cubic convolution. */
static double cubic(double x, double a)
{
    x = fabs(x);
    if (x < 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Taps outside are the edge's. */
static void taps_plain(struct taps *t, int64_t i, int64_t in, int64_t out)
{
    double at = ((double)i + 0.5) * (double)in / (double)out - 0.5;
    int64_t base = (int64_t)floor(at) - 1;

    t->first = 0;
    t->n = in;
    for (int64_t k = base; k < base + 4; k++) {
        int64_t edge = k < 0 ? 0 : k < in ? k : in - 1;

        t->weight[edge] += cubic(at - (double)k, -0.75);
    }
}

/* Taps outside count for nothing. */
static void taps_antialias(struct taps *t, int64_t i, int64_t in, int64_t out)
{
    double scale = (double)in / (double)out, wide = scale > 1 ? scale : 1, sum = 0;
    double centre = scale * ((double)i + 0.5);
    int64_t lo = (int64_t)(centre - 2 * wide + 0.5),
            hi = (int64_t)(centre + 2 * wide + 0.5);

    t->first = lo < 0 ? 0 : lo;
    t->n = (hi < in ? hi : in) - t->first;
    for (int64_t k = 0; k < t->n; k++) {
        double x = ((double)(t->first + k) - centre + 0.5) / wide;

        sum += t->weight[k] = cubic(x, -0.5);
    }
    for (int64_t k = 0; k < t->n; k++)
        t->weight[k] /= sum;
}

static struct taps *taps_new(int64_t in, int64_t out, bool antialias)
{
    struct taps *t = xcalloc((size_t)out, sizeof(*t));

    for (int64_t i = 0; i < out; i++) {
        t[i].weight = xcalloc((size_t)in + 1, sizeof(double));
        (antialias ? taps_antialias : taps_plain)(&t[i], i, in, out);
    }
    return t;
}

static void taps_free(struct taps *t, int64_t out)
{
    for (int64_t i = 0; i < out; i++)
        free(t[i].weight);
    free(t);
}

void weight_grid_resize(const float *src, struct weight_grid from, float *dst,
                        struct weight_grid to, int64_t channels, bool antialias)
{
    struct taps *taps = taps_new(from.side, to.side, antialias);
    const float *grid = src + from.prefix * channels;

    memcpy(dst, src, (size_t)(from.prefix * channels) * sizeof(*dst));
    dst += to.prefix * channels;
    for (int64_t i = 0; i < to.side * to.side * channels; i++) {
        const struct taps *v = &taps[i / channels / to.side];
        const struct taps *h = &taps[i / channels % to.side];
        double sum = 0;

        for (int64_t y = 0; y < v->n; y++)
            for (int64_t x = 0; x < h->n; x++)
                sum += v->weight[y] * h->weight[x] *
                       grid[((v->first + y) * from.side + h->first + x) * channels +
                            i % channels];
        dst[i] = (float)sum;
    }
    taps_free(taps, to.side);
}
