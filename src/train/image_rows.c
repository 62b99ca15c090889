#include "train/image_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "dist/group.h"

void image_rows_init(struct image_rows *r, int width)
{
    *r = (struct image_rows){.width = width};
}

void image_rows_release(struct image_rows *r)
{
    free(r->sample);
    free(r->value);
    *r = (struct image_rows){0};
}

float *image_rows_add(struct image_rows *r, int64_t sample)
{
    size_t width = (size_t)r->width;

    if (r->n == r->cap) {
        r->cap = r->cap ? 2 * r->cap : 256;
        r->sample = xrealloc(r->sample, (size_t)r->cap * sizeof(*r->sample));
        r->value = xrealloc(r->value, (size_t)r->cap * width * sizeof(*r->value));
    }
    r->sample[r->n] = sample;
    return r->value + r->n++ * r->width;
}

/* A row of the message starts with 1 if a rank has the image, else with 0. */
static void put_rows(const struct image_rows *r, double *x, int64_t first, int64_t n)
{
    for (int64_t i = 0; i < r->n; i++) {
        double *row;

        if (r->sample[i] < first || r->sample[i] >= first + n)
            continue;
        row = x + (r->sample[i] - first) * (r->width + 1);
        row[0] = 1;
        for (int k = 0; k < r->width; k++)
            row[1 + k] = (double)r->value[i * r->width + k];
    }
}

static void get_rows(struct image_rows *r, const double *x, int64_t first, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double *src = x + i * (r->width + 1);
        float *row;

        if (src[0] < 1)
            continue;
        row = image_rows_add(r, first + i);
        for (int k = 0; k < r->width; k++)
            row[k] = (float)src[1 + k];
    }
}

void image_rows_gather(struct image_rows *r, int64_t total)
{
    enum { MESSAGE = 1 << 16 }; /* doubles */
    int64_t length = r->width + 1, images = MESSAGE / length ? MESSAGE / length : 1;
    struct image_rows all;
    double *x;

    if (dist_world() == 1)
        return;
    image_rows_init(&all, r->width);
    x = xcalloc((size_t)(images * length), sizeof(*x));
    for (int64_t first = 0; first < total; first += images) {
        int64_t n = total - first < images ? total - first : images;

        memset(x, 0, (size_t)(n * length) * sizeof(*x));
        put_rows(r, x, first, n);
        dist_sum_doubles(x, (int)(n * length));
        get_rows(&all, x, first, n);
    }
    free(x);
    image_rows_release(r);
    *r = all;
}
