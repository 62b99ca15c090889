/*
 * The weight and bias gradients.
 *
 * A thread processes its rows in chunks of a few, copied so that everything a tile reads
 * is in one line: steps[channels / 16][step][16 words]. A step is a pixel in fp32, two
 * adjacent pixels in bf16, whose channels are in the order that unpacking produces.
 */
#include "cpu/conv/direct.h"

#include <string.h>

#include "cpu/conv/direct_loops.h"

enum { STEPS = 160 };

static int row_steps(const struct conv_shape *s)
{
    return s->type == DTYPE_BF16 ? (s->w + 1) / 2 : s->w;
}

static int chunk_rows(const struct conv_shape *s)
{
    int rows = STEPS / row_steps(s);

    return rows < 1 ? 1 : rows > s->h ? s->h : rows;
}

struct grad_scratch {
    size_t x, dy, sum, bias, total; /* byte offsets in a thread's part, and its size */
};

static struct grad_scratch grad_layout(const struct conv_shape *s)
{
    size_t steps = (size_t)(chunk_rows(s) * row_steps(s)) * sizeof(uint32_t);
    struct grad_scratch g = {0};

    g.dy = align64(steps * (size_t)s->c);
    g.sum = g.dy + align64(steps * (size_t)s->k);
    g.bias = g.sum + (size_t)taps_of(s) * (size_t)s->c * (size_t)s->k * sizeof(float);
    g.total = g.bias + align64((size_t)s->k * sizeof(double));
    return g;
}

size_t direct_weight_grad_scratch(const struct conv_shape *s, int threads)
{
    return grad_layout(s).total * (size_t)threads;
}

/* One step: 16 channels of pixels a and b; each is NULL outside the image. */
INLINE void step_half(const uint16_t *a, const uint16_t *b, uint32_t *dst)
{
    __m256i va = a ? _mm256_loadu_si256((const __m256i *)a) : _mm256_setzero_si256();
    __m256i vb = b ? _mm256_loadu_si256((const __m256i *)b) : _mm256_setzero_si256();

    _mm256_storeu_si256((__m256i *)dst, _mm256_unpacklo_epi16(va, vb));
    _mm256_storeu_si256((__m256i *)(dst + 8), _mm256_unpackhi_epi16(va, vb));
}

/* Returns the channel of a group of 16 that unpacking leaves at index i. */
static int place_half(int i)
{
    return (i & 3) | (i >> 2 & 1) << 3 | (i >> 3) << 2;
}

/* Copies 16 channels of a row of `width` pixels, shifted by `shift` columns. */
INLINE void copy_half(const uint16_t *row, int width, int channels, int shift,
                      uint32_t *dst)
{
    for (int i = 0; i < width; i += 2, dst += LANES) {
        int x = i + shift;
        const uint16_t *p = row + (ptrdiff_t)x * channels;

        step_half(x >= 0 && x < width ? p : NULL,
                  i + 1 < width && x + 1 >= 0 && x + 1 < width ? p + channels : NULL,
                  dst);
    }
}

INLINE void copy_float(const uint32_t *row, int width, int channels, int shift,
                       uint32_t *dst)
{
    for (int i = 0; i < width; i++, dst += LANES) {
        int x = i + shift;

        _mm512_storeu_si512(dst, x >= 0 && x < width
                                     ? _mm512_loadu_si512(row + (ptrdiff_t)x * channels)
                                     : _mm512_setzero_si512());
    }
}

/* sum[16] += the pixels of a row */
INLINE void sum_row(const char *row, int width, int channels, bool half, float *sum)
{
    __m512 even = _mm512_loadu_ps(sum), odd = _mm512_setzero_ps();

    for (int i = 0; i + 1 < width; i += 2) {
        even = _mm512_add_ps(even, load_lanes(row, (int64_t)i * channels, half));
        odd = _mm512_add_ps(odd, load_lanes(row, (int64_t)(i + 1) * channels, half));
    }
    if (width % 2)
        even =
            _mm512_add_ps(even, load_lanes(row, (int64_t)(width - 1) * channels, half));
    _mm512_storeu_ps(sum, _mm512_add_ps(even, odd));
}

/*
 * Copies `rows` rows of an image, shifted by `shift` columns, as steps; adds their pixels
 * to total[channels], unless it is NULL.
 */
ISA static void copy_rows(const struct conv_shape *s, const char *src, int channels,
                          int rows, int shift, uint32_t *dst, double *total)
{
    bool half = s->type == DTYPE_BF16;
    size_t size = dtype_size(s->type), row = (size_t)s->w * (size_t)channels * size;

    for (int c = 0; c < channels; c += LANES) {
        float sum[LANES] = {0};

        for (int y = 0; y < rows; y++, dst += (ptrdiff_t)row_steps(s) * LANES) {
            const void *p = src + (size_t)y * row + (size_t)c * size;

            if (half)
                copy_half(p, s->w, channels, shift, dst);
            else
                copy_float(p, s->w, channels, shift, dst);
            if (total && half)
                sum_row(p, s->w, channels, true, sum);
            else if (total)
                sum_row(p, s->w, channels, false, sum);
        }
        for (int i = 0; total && i < LANES; i++)
            total[c + i] += (double)sum[i];
    }
}

/* sum[inputs][vectors x 16] += over steps; d1: the second 16 outputs. */
INLINE void grad_tile(const uint32_t *x, const uint32_t *d0, const uint32_t *d1,
                      int steps, float *sum, bool half, int inputs, int vectors)
{
    __m512 acc[LANES][2];

#pragma GCC unroll 16
    for (int i = 0; i < inputs; i++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            acc[i][v] = _mm512_loadu_ps(sum + (i * vectors + v) * LANES);
    for (int j = 0; j < steps; j++, x += LANES, d0 += LANES, d1 += LANES) {
        __m512i w0 = _mm512_loadu_si512(d0);
        __m512i w1 = vectors > 1 ? _mm512_loadu_si512(d1) : w0;

#pragma GCC unroll 16
        for (int i = 0; i < inputs; i++) {
            __m512i b = _mm512_set1_epi32((int)x[i]);

            acc[i][0] = multiply(acc[i][0], w0, b, half);
            if (vectors > 1)
                acc[i][1] = multiply(acc[i][1], w1, b, half);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < inputs; i++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            _mm512_storeu_ps(sum + (i * vectors + v) * LANES, acc[i][v]);
}

/*
 * One tap: sum[k / 16 / vectors][c][vectors x 16] += over `steps` steps; `next`: steps of
 * dy between groups of 16 channels.
 */
INLINE void grad_tap(const struct conv_shape *s, const uint32_t *x, const uint32_t *dy,
                     int steps, int next, float *sum, struct prefetch *prefetch,
                     bool half)
{
    ptrdiff_t xgroup = (ptrdiff_t)steps * LANES, group = (ptrdiff_t)next * LANES;

    if (s->k == LANES) {
        for (int i = 0; i < s->c; i += LANES, x += xgroup, sum += LANES * LANES) {
            fetch(prefetch);
            grad_tile(x, dy, dy, steps, sum, half, 16, 1);
        }
        return;
    }
    for (int kb = 0; kb < s->k; kb += 2 * LANES, dy += 2 * group)
        for (int i = 0; i < s->c; i += 8, sum += 8 * 2 * LANES) {
            fetch(prefetch);
            grad_tile(x + i / LANES * xgroup + i % LANES, dy, dy + group, steps, sum,
                      half, 8, 2);
        }
}

ISA static void grad_tap_float(const struct conv_shape *s, const uint32_t *x,
                               const uint32_t *dy, int steps, int next, float *sum,
                               struct prefetch *prefetch)
{
    grad_tap(s, x, dy, steps, next, sum, prefetch, false);
}

ISA static void grad_tap_half(const struct conv_shape *s, const uint32_t *x,
                              const uint32_t *dy, int steps, int next, float *sum,
                              struct prefetch *prefetch)
{
    grad_tap(s, x, dy, steps, next, sum, prefetch, true);
}

struct grad_job {
    const struct device *dev;
    const struct conv_shape *s;
    const char *x, *dy;
    float *dw, *db;
    char *scratch;
};

/* Returns the tiles per chunk. */
static int grad_tiles(const struct conv_shape *s)
{
    return taps_of(s) * (s->k == LANES ? s->c / LANES : s->k / (2 * LANES) * (s->c / 8));
}

/*
 * Sums rows [y, y + rows) of one image. Rows outside the image are skipped per tap: the
 * remaining rows are contiguous.
 */
static void grad_chunk(const struct grad_job *j, const char *x, const char *dy, int y,
                       int rows, char *scratch)
{
    const struct conv_shape *s = j->s;
    struct grad_scratch g = grad_layout(s);
    uint32_t *sx = (uint32_t *)(scratch + g.x), *sdy = (uint32_t *)(scratch + g.dy);
    float *sum = (float *)(scratch + g.sum);
    size_t row = (size_t)s->w * dtype_size(s->type);
    int steps = row_steps(s), below = rows + s->kernel_h / 2 * s->dilation_h;
    struct prefetch prefetch = {0};

    /* prefetch the next chunk: its rows of dy, and the rows of x that no chunk has read yet */
    fetch_in(&prefetch, 0, dy + (size_t)(y + rows) * row * (size_t)s->k,
             (size_t)rows * row * (size_t)s->k, grad_tiles(s));
    fetch_in(&prefetch, 1, x + (size_t)(y + below) * row * (size_t)s->c,
             (size_t)rows * row * (size_t)s->c, grad_tiles(s));
    copy_rows(s, dy + (size_t)y * row * (size_t)s->k, s->k, rows, 0, sdy,
              j->db ? (double *)(scratch + g.bias) : NULL);
    for (int r = 0; r < s->kernel_h; r++) {
        int down = (r - s->kernel_h / 2) * s->dilation_h;
        int lo = y + down < 0 ? -down : y, hi = y + rows;

        if (hi + down > s->h)
            hi = s->h - down;
        for (int c = 0; c < s->kernel_w; c++, sum += (ptrdiff_t)s->c * s->k) {
            const uint32_t *d = sdy + (ptrdiff_t)(lo - y) * steps * LANES;

            if (lo >= hi)
                continue;
            copy_rows(s, x + (size_t)(lo + down) * row * (size_t)s->c, s->c, hi - lo,
                      (c - s->kernel_w / 2) * s->dilation_w, sx, NULL);
            (s->type == DTYPE_BF16 ? grad_tap_half : grad_tap_float)(
                s, sx, d, (hi - lo) * steps, rows * steps, sum, &prefetch);
        }
    }
}

static void grad_thread(void *arg, int thread)
{
    const struct grad_job *j = arg;
    const struct conv_shape *s = j->s;
    struct grad_scratch g = grad_layout(s);
    char *scratch = j->scratch + (size_t)thread * g.total;
    size_t pixels = (size_t)s->h * (size_t)s->w * dtype_size(s->type);
    int64_t lo, hi;

    memset(scratch + g.sum, 0, g.total - g.sum);
    cpu_part((int64_t)s->n * s->h, 1, thread, j->dev->threads, &lo, &hi);
    while (lo < hi) {
        int64_t image = lo / s->h;
        int y = (int)(lo % s->h), rows = chunk_rows(s);

        if (rows > s->h - y)
            rows = s->h - y;
        if (rows > hi - lo)
            rows = (int)(hi - lo);
        grad_chunk(j, j->x + (size_t)image * pixels * (size_t)s->c,
                   j->dy + (size_t)image * pixels * (size_t)s->k, y, rows, scratch);
        lo += rows;
    }
}

/* dw[o][tap][i] of 16 by 16 channels = the threads' sums, in thread order. */
ISA static void reduce_tile(const struct grad_job *j, int tap, int o, int i)
{
    const struct conv_shape *s = j->s;
    struct grad_scratch g = grad_layout(s);
    bool half = s->type == DTYPE_BF16;
    int wide = s->k == LANES ? LANES : 2 * LANES;
    ptrdiff_t pos = (ptrdiff_t)tap * s->c * s->k + (ptrdiff_t)(o / wide) * s->c * wide +
                    (ptrdiff_t)i * wide + o % wide;
    float tile[LANES][LANES];

    for (int a = 0; a < LANES; a++, pos += wide) {
        __m512 v = _mm512_setzero_ps();

        for (int t = 0; t < j->dev->threads; t++)
            v = _mm512_add_ps(
                v, _mm512_loadu_ps(
                       (const float *)(j->scratch + (size_t)t * g.total + g.sum) + pos));
        _mm512_storeu_ps(tile[half ? place_half(a) : a], v);
    }
    for (int b = 0; b < LANES; b++) {
        float *dst =
            j->dw +
            ((ptrdiff_t)(o + (half ? place_half(b) : b)) * taps_of(s) + tap) * s->c + i;

        for (int a = 0; a < LANES; a++)
            dst[a] = tile[a][b];
    }
}

static void reduce_part(void *arg, int64_t lo, int64_t hi)
{
    const struct grad_job *j = arg;

    for (int64_t o = lo; o < hi; o += LANES)
        for (int tap = 0; tap < taps_of(j->s); tap++)
            for (int i = 0; i < j->s->c; i += LANES)
                reduce_tile(j, tap, (int)o, i);
}

/* NOLINTBEGIN(readability-non-const-parameter): dw is written through the job */
void direct_weight_grad(const struct device *dev, const struct conv_shape *s,
                        const void *x, const void *dy, float *dw, float *db,
                        void *scratch)
/* NOLINTEND(readability-non-const-parameter) */
{
    struct grad_job j = {dev, s, x, dy, dw, db, scratch};
    struct grad_scratch g = grad_layout(s);

    cpu_parallel(dev, grad_thread, &j);
    cpu_for(dev, s->k, LANES, reduce_part, &j);
    for (int k = 0; db && k < s->k; k++) {
        double sum = 0;

        for (int t = 0; t < dev->threads; t++)
            sum += ((const double *)(j.scratch + (size_t)t * g.total + g.bias))[k];
        db[k] = (float)sum;
    }
}
