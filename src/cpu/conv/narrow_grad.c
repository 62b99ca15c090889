/* The gradient of the weights. */
#include "cpu/conv/narrow_loops.h"

/*
 * Weight gradient: pixels are summed in pairs. For stride 1, output pixels 2j and 2j+1
 * meet input columns 2j+s and 2j+1+s of the padded row, s = 0, 1, 2: pairs that start at
 * an even column serve s = 0 and 2, at an odd column s = 1. For stride 2 they meet
 * columns 4j+s and 4j+2+s: one array of pairs for each s.
 */
struct pairs {
    int per_row; /* pairs in a row of outputs */
    int arrays;  /* 2 or 3 */
    int array_of[3], shift[3];
    size_t len;  /* 32-bit values in one array */
    int columns; /* pairs in a row of an array */
};

static struct pairs pairs_of(const struct conv_shape *s)
{
    struct pairs p = {.per_row = s->wo / 2};

    if (s->stride_h == 1) {
        p.arrays = 2;
        p.columns = p.per_row + 1;
        p.array_of[1] = 1;
        p.shift[2] = 1;
    } else {
        p.arrays = 3;
        p.columns = p.per_row;
        p.array_of[1] = 1;
        p.array_of[2] = 2;
    }
    p.len = (size_t)(s->h + 2) * (size_t)p.columns * (size_t)padded_channels(s->c);
    return p;
}

/* to[c] = (a[c], b[c]) as 32-bit pairs */
INLINE void interleave(const uint16_t *a, const uint16_t *b, uint32_t *dst, int c)
{
    if (c == 4) {
        for (int i = 0; i < 4; i++)
            dst[i] = (uint32_t)a[i] | (uint32_t)b[i] << 16;
        return;
    }
    for (int i = 0; i < c; i += LANES) {
        __m512i lo = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(a + i)));
        __m512i hi = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(b + i)));

        _mm512_storeu_si512(dst + i, _mm512_or_si512(lo, _mm512_slli_epi32(hi, 16)));
    }
}

ISA static void pair_input(const struct conv_shape *s, const struct pairs *p,
                           const uint16_t *pad, uint32_t *dst)
{
    int c = padded_channels(s->c);
    ptrdiff_t row = (ptrdiff_t)(s->w + 2) * c;

    for (int a = 0; a < p->arrays; a++)
        for (int y = 0; y < s->h + 2; y++)
            for (int j = 0; j < p->columns; j++, dst += c) {
                int col = s->stride_h == 1 ? 2 * j + a : 4 * j + a;
                const uint16_t *f = pad + y * row + (ptrdiff_t)col * c;

                if (col + s->stride_h < s->w + 2) /* otherwise the pair is never read */
                    interleave(f, f + (ptrdiff_t)s->stride_h * c, dst, c);
            }
}

ISA static void pair_output(const struct conv_shape *s, const uint16_t *dy, uint32_t *dst)
{
    size_t pixels = (size_t)s->ho * (size_t)s->wo;

    for (size_t i = 0; i < pixels; i += 2)
        interleave(dy + i * (size_t)s->k, dy + (i + 1) * (size_t)s->k,
                   dst + i / 2 * (size_t)s->k, s->k);
}

/* 16 input by 16 output channels of one tap, summed over the pixels of one image. */
ISA static void grad_block(const uint32_t *x, ptrdiff_t xrow, const uint32_t *dy,
                           int rows, int per_row, int c, int k, float *sum)
{
    __m512 acc[LANES];

#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++)
        acc[i] = _mm512_loadu_ps(sum + (ptrdiff_t)i * LANES);
    for (int y = 0; y < rows; y++) {
        const uint32_t *p = x + y * xrow;

        for (int j = 0; j < per_row; j++, p += c, dy += k) {
            __m512i d = _mm512_loadu_si512(dy);

#pragma GCC unroll 16
            for (int i = 0; i < LANES; i++)
                DOT_BROADCAST(acc[i], d, p + i);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++)
        _mm512_storeu_ps(sum + (ptrdiff_t)i * LANES, acc[i]);
}

/* Does the same for 4 input channels and the three taps of one row. */
ISA static void grad_stem(const uint32_t *const x[3], ptrdiff_t xrow, const uint32_t *dy,
                          int rows, int per_row, int k, float *sum)
{
    __m512 acc[12];

#pragma GCC unroll 12
    for (int i = 0; i < 12; i++)
        acc[i] = _mm512_loadu_ps(sum + (ptrdiff_t)i * LANES);
    for (int y = 0; y < rows; y++) {
        const uint32_t *p0 = x[0] + y * xrow, *p1 = x[1] + y * xrow,
                       *p2 = x[2] + y * xrow;

        for (int j = 0; j < per_row; j++, p0 += 4, p1 += 4, p2 += 4, dy += k) {
            __m512i d = _mm512_loadu_si512(dy);

#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) {
                DOT_BROADCAST(acc[i], d, p0 + i);
                DOT_BROADCAST(acc[4 + i], d, p1 + i);
                DOT_BROADCAST(acc[8 + i], d, p2 + i);
            }
        }
    }
#pragma GCC unroll 12
    for (int i = 0; i < 12; i++)
        _mm512_storeu_ps(sum + (ptrdiff_t)i * LANES, acc[i]);
}

/* sum[k / 16][tap][c][k % 16] of one thread += one image */
static void grad_image(const struct conv_shape *s, const struct pairs *p,
                       const uint32_t *x, const uint32_t *dy, float *sum)
{
    int c = padded_channels(s->c), ho = s->ho;
    ptrdiff_t row = (ptrdiff_t)p->columns * c;

    for (int kb = 0; kb < s->k; kb += LANES)
        for (int r = 0; r < 3; r++) {
            const uint32_t *row_x[3];

            for (int t = 0; t < 3; t++)
                row_x[t] = x + (size_t)p->array_of[t] * p->len + r * row +
                           (ptrdiff_t)p->shift[t] * c;
            float *dst = sum + ((ptrdiff_t)(kb / LANES) * 9 + 3 * r) * c * LANES;

            if (c == 4) {
                grad_stem(row_x, s->stride_h * row, dy + kb, ho, p->per_row, s->k, dst);
                continue;
            }
            for (int t = 0; t < 3; t++)
                for (int cb = 0; cb < c; cb += LANES)
                    grad_block(row_x[t] + cb, s->stride_h * row, dy + kb, ho, p->per_row,
                               c, s->k, dst + ((ptrdiff_t)t * c + cb) * LANES);
        }
}

struct grad_scratch {
    size_t pad, x, dy, sum, total; /* byte offsets in a thread's part, and its size */
};

static struct grad_scratch grad_layout(const struct conv_shape *s)
{
    struct pairs p = pairs_of(s);
    struct grad_scratch g = {0};
    size_t out = (size_t)s->ho * (size_t)s->wo * (size_t)s->k / 2;

    g.x = align64(padded_image(s) * sizeof(uint16_t));
    g.dy = g.x + align64((size_t)p.arrays * p.len * sizeof(uint32_t));
    g.sum = g.dy + align64(out * sizeof(uint32_t));
    g.total = g.sum + align64(sums_of(s) * sizeof(float));
    return g;
}

size_t narrow_weight_grad_scratch(const struct conv_shape *s, int threads)
{
    return grad_layout(s).total * (size_t)threads;
}

/* dw[k][tap][c] = the threads' sums, in thread order */
static void reduce_sums(const struct conv_shape *s, const char *scratch,
                        const struct grad_scratch *g, int threads, float *dw)
{
    int c = padded_channels(s->c);

    for (int k = 0; k < s->k; k++)
        for (int tap = 0; tap < 9; tap++)
            for (int i = 0; i < s->c; i++) {
                size_t pos =
                    (((size_t)(k / LANES) * 9 + (size_t)tap) * (size_t)c + (size_t)i) *
                        LANES +
                    (size_t)(k % LANES);
                float v = 0;

                for (int t = 0; t < threads; t++)
                    v += ((const float *)(scratch + (size_t)t * g->total + g->sum))[pos];
                dw[((size_t)k * 9 + (size_t)tap) * (size_t)s->c + (size_t)i] = v;
            }
}

struct grad_job {
    const struct device *dev;
    const struct conv_shape *s;
    const uint16_t *x, *dy;
    char *scratch;
};

static void grad_thread(void *arg, int thread)
{
    const struct grad_job *j = arg;
    const struct conv_shape *s = j->s;
    struct grad_scratch g = grad_layout(s);
    struct pairs p = pairs_of(s);
    int64_t ximage = (int64_t)s->h * s->w * s->c, yimage = (int64_t)s->ho * s->wo * s->k;
    char *scratch = j->scratch + (size_t)thread * g.total;
    uint16_t *pad = (uint16_t *)scratch;
    uint32_t *px = (uint32_t *)(scratch + g.x), *py = (uint32_t *)(scratch + g.dy);
    float *sum = (float *)(scratch + g.sum);
    int64_t lo, hi;

    memset(sum, 0, sums_of(s) * sizeof(float));
    cpu_part(s->n, 1, thread, j->dev->threads, &lo, &hi);
    for (int64_t i = lo; i < hi; i++) {
        pad_image(s, j->x + i * ximage, pad);
        pair_input(s, &p, pad, px);
        pair_output(s, j->dy + i * yimage, py);
        grad_image(s, &p, px, py, sum);
    }
}

void narrow_weight_grad(const struct device *dev, const struct conv_shape *s,
                        const void *x, const void *dy, float *dw, float *db,
                        void *scratch)
{
    struct grad_scratch g = grad_layout(s);
    struct grad_job j = {dev, s, x, dy, scratch};

    (void)db; /* nothing is fused */
    cpu_parallel(dev, grad_thread, &j);
    reduce_sums(s, scratch, &g, dev->threads, dw);
}
