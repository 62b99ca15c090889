/* Tables of weights, and the dispatch between passes in plain C and vectors. */
#include "image/resize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "image/resize_pass.h"

static enum resize_passes resize_limit = RESIZE_AVX512; /* set by resize_limit_passes */

struct resize_axis resize_axis_all(int begin, int end, int out)
{
    return (struct resize_axis){begin, end, begin, end, out, 0, out};
}

/* Computes the weights of output o over the source pixels [lo, hi), with sum 1, in
 * Pillow's order of operations. */
static void resize_weights(const struct resize_axis *a, enum resize_filter f, int o,
                           int lo, int hi, double *w)
{
    double sum = 0;

    for (int i = lo; i < hi; i++) {
        w[i - lo] = resize_raw_weight(a, (int)f, o, i);
        sum += w[i - lo];
    }
    if (sum == 0) /* a single tap at the edge of the kernel, where it is 0 */
        w[0] = sum = 1;
    sum = 1 / sum;
    for (int i = 0; i < hi - lo; i++)
        w[i] *= sum;
}

static void resize_table_reserve(struct resizer *r, struct resize_table *t, int n,
                                 int stride)
{
    size_t need = (size_t)n * (size_t)stride;

    if (need > t->cap) {
        t->high = xrealloc(t->high, need * sizeof(*t->high));
        t->low = xrealloc(t->low, need * sizeof(*t->low));
        t->first = xrealloc(t->first, need * sizeof(*t->first));
        t->cap = need;
    }
    if (need > r->scratch_cap) {
        r->scratch = xrealloc(r->scratch, need * sizeof(*r->scratch));
        r->scratch_cap = need;
    }
    t->n = n;
    t->stride = stride;
}

/*
 * All outputs use the maximum number of taps. If they would reach beyond the source,
 * which has `size` pixels, they start earlier, with leading zero weights.
 */
static void resize_keep_inside(struct resizer *r, struct resize_table *t, int size)
{
    for (int i = 0; i < t->n; i++) {
        double *w = r->scratch + (size_t)i * (size_t)t->stride;
        int excess = t->first[i] + t->taps - size;

        excess = excess < t->first[i] ? excess : t->first[i];
        if (excess <= 0)
            continue;
        t->first[i] -= excess;
        memmove(w + excess, w, (size_t)(t->taps - excess) * sizeof(*w));
        memset(w, 0, (size_t)excess * sizeof(*w));
    }
}

/* The source has the pixels [origin, origin + size); `flip` reverses the outputs. */
static void resize_table_fill(struct resizer *r, struct resize_table *t,
                              const struct resize_axis *a, enum resize_filter f,
                              int origin, int size, bool flip)
{
    double scale = (a->end - a->begin) / a->out;
    int taps = (int)ceil(resize_support((int)f) * (scale > 1 ? scale : 1)) * 2 + 1;

    resize_table_reserve(r, t, a->n,
                         (taps + RESIZE_GROUP - 1) / RESIZE_GROUP * RESIZE_GROUP);
    t->taps = 0;
    for (int i = 0; i < a->n; i++) {
        int o = a->first + (flip ? a->n - 1 - i : i), lo, hi;
        double *w = r->scratch + (size_t)i * (size_t)t->stride;

        resize_taps(a, (int)f, o, &lo, &hi);
        if (hi - lo > t->stride)
            BUG("%d taps in a table for %d", hi - lo, t->stride);
        memset(w, 0, (size_t)t->stride * sizeof(*w));
        resize_weights(a, f, o, lo, hi, w);
        t->first[i] = lo - origin;
        t->taps = hi - lo > t->taps ? hi - lo : t->taps;
    }
    resize_keep_inside(r, t, size);
    for (size_t k = 0; k < (size_t)a->n * (size_t)t->stride; k++) {
        long w = resize_fixed(r->scratch[k]);

        t->low[k] = (int16_t)(w & ((1 << RESIZE_LOW) - 1));
        t->high[k] = (int16_t)((w - t->low[k]) / (1 << RESIZE_LOW));
    }
}

void resize_limit_passes(enum resize_passes limit)
{
    resize_limit = limit;
}

static const struct resize_code {
    resize_horizontal_fn *horizontal;
    resize_vertical_fn *vertical;
} resize_codes[] = {
    [RESIZE_C] = {resize_horizontal_c, resize_vertical_c},
    [RESIZE_AVX2] = {resize_horizontal_avx2, resize_vertical_avx2},
    [RESIZE_AVX512] = {resize_horizontal_avx512, resize_vertical_avx512},
};

static const struct resize_code *resize_best(void)
{
    enum resize_passes best = RESIZE_C;

#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        best = RESIZE_AVX2;
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vnni"))
        best = RESIZE_AVX512;
#endif
    return &resize_codes[best < resize_limit ? best : resize_limit];
}

/* Resizes rows [lo, hi) of the source along x into r->mid. */
static void resize_rows_along_x(struct resizer *r, const struct image *src, int lo,
                                int hi)
{
    struct resize_rows rows = {.src_stride = src->stride, .rows = hi - lo};

    image_resize_reserve(&r->mid, r->x.n + 1, hi - lo); /* + 1: passes write past the end
                                                      * of a row */
    rows.src = src->pixel + (size_t)(lo - src->y) * src->stride;
    rows.dst = r->mid.pixel;
    rows.dst_stride = r->mid.stride;
    resize_best()->horizontal(&r->x, &rows);
}

/* Resizes the rows of r->mid along y into dst. */
static void resize_mid_along_y(struct resizer *r, uint8_t *dst, size_t dst_stride)
{
    const struct resize_table *t = &r->y;
    int taps = (t->taps + 1) & ~1; /* even: vectors process rows in pairs */
    resize_vertical_fn *pass = resize_best()->vertical;

    if (taps > r->row_cap) {
        r->row = xrealloc(r->row, (size_t)taps * sizeof(*r->row));
        r->row_cap = taps;
    }
    for (int y = 0; y < t->n; y++, dst += dst_stride) {
        for (int k = 0; k < taps; k++) {
            int pos = t->first[y] + k; /* beyond the last row the weight is zero */

            pos = pos < r->mid.h ? pos : r->mid.h - 1;
            r->row[k] = r->mid.pixel + (size_t)pos * r->mid.stride;
        }
        pass(t->high + (size_t)y * (size_t)t->stride,
             t->low + (size_t)y * (size_t)t->stride, r->row, taps, dst, r->x.n * 3);
    }
}

void resize(struct resizer *r, const struct image *src, const struct resize_axis *x,
            const struct resize_axis *y, enum resize_filter f,
            const struct resize_target *dst)
{
    int x0, x1, y0, y1;

    resize_span(x, (int)f, &x0, &x1);
    resize_span(y, (int)f, &y0, &y1);
    if (x0 < src->x || y0 < src->y || x1 > src->x + src->w || y1 > src->y + src->h)
        BUG("resize looks at %d..%d x %d..%d of an image at %d,%d of %dx%d", x0, x1, y0,
            y1, src->x, src->y, src->w, src->h);
    resize_table_fill(r, &r->x, x, f, src->x, src->w, dst->flip);
    resize_table_fill(r, &r->y, y, f, y0, y1 - y0, false);
    resize_rows_along_x(r, src, y0, y1);
    resize_mid_along_y(r, dst->pixel, dst->stride);
}

void resizer_release(struct resizer *r)
{
    free(r->x.first);
    free(r->x.high);
    free(r->x.low);
    free(r->y.first);
    free(r->y.high);
    free(r->y.low);
    free(r->scratch);
    free(r->row);
    image_release(&r->mid);
    memset(r, 0, sizeof(*r));
}
