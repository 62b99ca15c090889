#include "train/cam.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "image/transform_plan.h"

/* Writes the mean gradient of each channel. */
static void mean_gradients(const float *dx, int64_t places, int channels, double *weight)
{
    for (int c = 0; c < channels; c++)
        weight[c] = 0;
    for (int64_t i = 0; i < places; i++)
        for (int c = 0; c < channels; c++)
            weight[c] += (double)dx[i * channels + c];
    for (int c = 0; c < channels; c++)
        weight[c] /= (double)places;
}

bool cam_map(const struct model_stage *s, const float *x, const float *dx, float *map)
{
    int64_t places = (int64_t)s->height * s->width,
            skip = (int64_t)s->prefix * s->channels;
    double *weight = xcalloc((size_t)s->channels, sizeof(*weight));
    double least = INFINITY, max = 0;

    mean_gradients(dx + skip, places, s->channels, weight);
    for (int64_t i = 0; i < places; i++) {
        const float *ptr = x + skip + i * s->channels;
        double sum = 0;

        for (int c = 0; c < s->channels; c++)
            sum += weight[c] * (double)ptr[c];
        map[i] = (float)fmax(sum, 0);
        least = fmin(least, (double)map[i]);
        max = fmax(max, (double)map[i]);
    }
    for (int64_t i = 0; i < places; i++)
        map[i] = (float)(((double)map[i] - least) / (1e-7 + max - least));
    free(weight);
    return max > 0;
}

/* Splits a position in 0..1 into the two nearest of n cells and the weight of the second. */
static double split(double u, int n, int *a, int *b)
{
    double pos = fmin(fmax(u * n - 0.5, 0), n - 1);

    *a = (int)pos;
    *b = *a + 1 < n ? *a + 1 : *a;
    return pos - *a;
}

double cam_at(const struct model_stage *s, const float *map, double u, double v)
{
    int x0, x1, y0, y1;
    double fx = split(u, s->width, &x0, &x1), fy = split(v, s->height, &y0, &y1);
    const float *top = map + (int64_t)y0 * s->width, *low = map + (int64_t)y1 * s->width;

    return (1 - fy) * ((1 - fx) * (double)top[x0] + fx * (double)top[x1]) +
           fy * ((1 - fx) * (double)low[x0] + fx * (double)low[x1]);
}

/* One channel of matplotlib's jet: a ramp up to 1 around `center`, flat, and down. */
static double jet(double value, double center)
{
    return fmin(fmax(1.5 - fabs(4 * value - center), 0), 1);
}

static void blend(uint8_t *rgb, double value)
{
    for (int c = 0; c < 3; c++)
        rgb[c] = (uint8_t)rint((rgb[c] + 255 * jet(value, 3 - c)) / 2);
}

void cam_paint(const struct model_stage *s, const float *map, const struct transform *t,
               uint8_t *rgb, int w, int h)
{
    struct transform_plan p;

    transform_plan(t, &(struct augment_key){0}, w, h, &p);
    for (int y = 0; y < h; y++) {
        double v = ((y + 0.5) * p.y.out / h - p.y.first + p.dst_y) / t->h;

        for (int x = 0; x < w; x++) {
            double u = ((x + 0.5) * p.x.out / w - p.x.first + p.dst_x) / t->w;

            if (u >= 0 && u <= 1 && v >= 0 && v <= 1)
                blend(rgb + 3 * ((int64_t)y * w + x), cam_at(s, map, u, v));
        }
    }
}
