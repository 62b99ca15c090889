/*
 * A channels-last tensor as rows of whole vectors. C channels are repeated `fold` times
 * to form a row of `width` elements, a multiple of two vectors and long enough for a
 * loop. Tables with a value per channel are repeated likewise, in the order of
 * loops_place(). The last row may be short.
 */
#ifndef CPU_ROWS_H
#define CPU_ROWS_H

#include "cpu/device.h"
#include "ops/image.h"

enum { ROWS_WIDTH = 64 }; /* minimum elements per row */

struct rows {
    int64_t n;         /* elements of the tensor */
    int64_t channels;  /* the last dim as stored */
    int64_t width;     /* channels * fold */
    int64_t chunk;     /* elements whose sums may stay in fp32; whole rows */
    int64_t positions; /* n / channels */
    enum dtype t;
    int lanes;
};

static inline struct rows rows_of(const struct tensor *t, const struct device *dev)
{
    struct rows r = {.n = tensor_len(t),
                     .channels = tensor_channels(t),
                     .t = t->dtype,
                     .lanes = dev->loops->lanes};
    int64_t rows;

    r.width = r.channels;
    while (r.width % (2 * r.lanes) || r.width < ROWS_WIDTH)
        r.width += r.channels;
    rows = 32768 / r.width;
    r.chunk = (rows < 64 ? 64 : rows) * r.width;
    r.positions = r.n / r.channels;
    return r;
}

/* Computes the elements of a thread. */
static inline void rows_part(const struct rows *r, const struct device *dev, int thread,
                             int64_t *lo, int64_t *hi)
{
    cpu_part(r->n, r->width, thread, dev->threads, lo, hi);
}

/* Returns the start of the last chunk of [lo, hi), whose first chunk starts at lo; lo < hi. */
static inline int64_t rows_last_chunk(const struct rows *r, int64_t lo, int64_t hi)
{
    return lo + (hi - 1 - lo) / r->chunk * r->chunk;
}

static inline void rows_repeat(const struct rows *r, float *table, int64_t c, float v)
{
    for (int64_t i = c; i < r->width; i += r->channels)
        table[loops_place(r->t, r->lanes, i)] = v;
}

/* Returns the value of channel c in a table made by rows_repeat. */
static inline float rows_number(const struct rows *r, const float *table, int64_t c)
{
    return table[loops_place(r->t, r->lanes, c)];
}

/* Sums totals[thread][width] over all threads and folds, in a fixed order. */
static inline double rows_total(const struct rows *r, const double *totals, int threads,
                                int64_t c)
{
    double sum = 0;

    for (int t = 0; t < threads; t++)
        for (int64_t i = c; i < r->width; i += r->channels)
            sum += totals[t * r->width + loops_place(r->t, r->lanes, i)];
    return sum;
}

#endif
