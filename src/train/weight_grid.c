#include "train/weight_grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* The weights of an output: weight[k] applies to input first + k, for k < n. */
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
    return (struct weight_grid){.tokens = rows - side * side, .side = side};
}

/* Keys 1981: the kernel of cubic convolution. */
static double cubic(double x, double a)
{
    x = fabs(x);
    if (x < 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Bicubic; inputs outside the grid repeat the edge. */
static void taps_plain(struct taps *t, int64_t i, int64_t in, int64_t out)
{
    double center = ((double)i + 0.5) * (double)in / (double)out - 0.5;
    int64_t base = (int64_t)floor(center) - 1;

    t->first = 0;
    t->n = in;
    for (int64_t k = base; k < base + 4; k++) {
        int64_t edge = k < 0 ? 0 : k < in ? k : in - 1;

        t->weight[edge] += cubic(center - (double)k, -0.75);
    }
}

/* Bicubic with antialiasing; inputs outside the grid are ignored. */
static void taps_antialias(struct taps *t, int64_t i, int64_t in, int64_t out)
{
    double scale = (double)in / (double)out, wide = scale > 1 ? scale : 1, sum = 0;
    double center = scale * ((double)i + 0.5);
    int64_t lo = (int64_t)(center - 2 * wide + 0.5),
            hi = (int64_t)(center + 2 * wide + 0.5);

    t->first = lo < 0 ? 0 : lo;
    t->n = (hi < in ? hi : in) - t->first;
    for (int64_t k = 0; k < t->n; k++) {
        double x = ((double)(t->first + k) - center + 0.5) / wide;

        sum += t->weight[k] = cubic(x, -0.5);
    }
    for (int64_t k = 0; k < t->n; k++)
        t->weight[k] /= sum;
}

/* Fills the positions of the old table's offsets 0 to half: 0, 1, 1 + q, 1 + q + q^2,
 * ... */
static void geometric_places(double *place, int64_t half, int64_t distance)
{
    double left = 1.01, right = 1.5, q = 1.01, step;

    while (right - left > 1e-6) {
        q = (left + right) / 2;
        if ((1 - pow(q, (double)half)) / (1 - q) > (double)distance)
            right = q;
        else
            left = q;
    }
    place[0] = 0;
    step = 1;
    for (int64_t i = 1; i <= half; i++, step *= q)
        place[i] = place[i - 1] + step;
}

/* Requires odd sides: offsets are -half to half. */
static void taps_geometric(struct taps *t, int64_t i, int64_t in, int64_t out)
{
    int64_t half = in / 2, offset = i - out / 2, far = offset < 0 ? -offset : offset;
    double *place = xcalloc((size_t)half + 1, sizeof(*place)), share = 0;
    int64_t k = 0, sign = offset < 0 ? -1 : 1;

    geometric_places(place, half, out / 2);
    while (k < half && place[k + 1] <= (double)far)
        k++;
    if (k < half)
        share = ((double)far - place[k]) / (place[k + 1] - place[k]);
    t->first = 0;
    t->n = in;
    t->weight[half + sign * k] += 1 - share;
    if (k < half)
        t->weight[half + sign * (k + 1)] += share;
    free(place);
}

static struct taps *taps_new(int64_t in, int64_t out, enum grid_method method)
{
    static void (*const make[])(struct taps * t, int64_t i, int64_t in, int64_t out) = {
        [GRID_BICUBIC] = taps_plain,
        [GRID_ANTIALIAS] = taps_antialias,
        [GRID_GEOMETRIC] = taps_geometric,
    };
    struct taps *t = xcalloc((size_t)out, sizeof(*t));

    for (int64_t i = 0; i < out; i++) {
        t[i].weight = xcalloc((size_t)in + 1, sizeof(double));
        make[method](&t[i], i, in, out);
    }
    return t;
}

static void taps_free(struct taps *t, int64_t out)
{
    for (int64_t i = 0; i < out; i++)
        free(t[i].weight);
    free(t);
}

void weight_grid_resize(const float *src, struct weight_grid source, float *dst,
                        struct weight_grid target, int64_t channels,
                        enum grid_method method)
{
    struct taps *taps = taps_new(source.side, target.side, method);
    int64_t tokens = source.tokens * channels;
    const float *grid = source.suffix ? src : src + tokens;

    if (source.suffix)
        memcpy(dst + target.side * target.side * channels,
               src + source.side * source.side * channels, (size_t)tokens * sizeof(*dst));
    else
        memcpy(dst, src, (size_t)tokens * sizeof(*dst));
    dst += target.suffix ? 0 : tokens;
    for (int64_t i = 0; i < target.side * target.side * channels; i++) {
        const struct taps *v = &taps[i / channels / target.side];
        const struct taps *h = &taps[i / channels % target.side];
        double sum = 0;

        for (int64_t y = 0; y < v->n; y++)
            for (int64_t x = 0; x < h->n; x++)
                sum += v->weight[y] * h->weight[x] *
                       grid[((v->first + y) * source.side + h->first + x) * channels +
                            i % channels];
        dst[i] = (float)sum;
    }
    taps_free(taps, target.side);
}
