#include "cpu/conv_narrow.h"

#include <immintrin.h>
#include <omp.h>
#include <string.h>

#include "base/half.h"

#define ISA    __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))
#define INLINE ISA static inline __attribute__((always_inline))

enum { LANES = 16, PIXELS = 16 };

/* acc += pairs of w times the pair at p, broadcast. gcc does not fold the broadcast. */
#define DOT_BROADCAST(acc, w, p)                                                         \
    __asm__("vdpbf16ps %2%{1to16%}, %1, %0"                                              \
            : "+v"(acc)                                                                  \
            : "v"(w), "m"(*(const uint32_t *)(p)))

/* Channels as stored in scratch: 3 become 4, so that pairs exist. */
static int padded_channels(int c)
{
    return c == 3 ? 4 : c;
}

bool narrow_supported(const struct narrow *s)
{
    if (!__builtin_cpu_supports("avx512bf16") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512vl"))
        return false;
    if (s->stride != 1 && s->stride != 2)
        return false;
    if (s->c != 3 && s->c != 16 && s->c != 32 && s->c != 64)
        return false;
    if (s->k != 16 && s->k != 32 && s->k != 64)
        return false;
    if (s->h % s->stride || s->w % s->stride)
        return false;
    return s->w / s->stride % 16 == 0 ||
           (s->w / s->stride == 8 && s->h / s->stride % 2 == 0);
}

bool narrow_data_grad_supported(const struct narrow *s)
{
    struct narrow back = {s->n, s->h, s->w, s->k, s->c, 1};

    return s->stride == 1 && narrow_supported(&back);
}

size_t narrow_packed_len(const struct narrow *s)
{
    int c = padded_channels(s->c), k = padded_channels(s->k);

    return (size_t)9 * (size_t)c * (size_t)k;
}

/* dst[k / 16][r][s][c / 2][k % 16][2]; backward: in and out swapped, taps turned round.
 */
void narrow_pack(const struct narrow *s, uint16_t *dst, const float *w, bool backward)
{
    int in = backward ? s->k : s->c, out = backward ? s->c : s->k;
    int inp = padded_channels(in);

    for (int kb = 0; kb < out; kb += LANES)
        for (int tap = 0; tap < 9; tap++)
            for (int c = 0; c < inp; c++)
                for (int k = 0; k < LANES; k++) {
                    int o = backward ? c : kb + k, i = backward ? kb + k : c;
                    int t = backward ? 8 - tap : tap;
                    float v =
                        c < in ? w[((size_t)o * 9 + (size_t)t) * (size_t)s->c + (size_t)i]
                               : 0;

                    dst[(((size_t)(kb / LANES) * 9 + (size_t)tap) * (size_t)(inp / 2) +
                         (size_t)(c / 2)) *
                            2 * LANES +
                        (size_t)(2 * k + (c & 1))] = bf16_from_float(v);
                }
}

static size_t padded_image(const struct narrow *s)
{
    return (size_t)(s->h + 2) * (size_t)(s->w + 2) * (size_t)padded_channels(s->c);
}

static size_t align64(size_t n)
{
    return (n + 63) / 64 * 64;
}

/* One image with a border of zeros; 3 channels become 4. */
static void pad_image(const struct narrow *s, const uint16_t *x, uint16_t *to)
{
    int cp = padded_channels(s->c), w = s->w, row = (w + 2) * cp;

    memset(to, 0, (size_t)row * sizeof(*to));
    memset(to + (ptrdiff_t)(s->h + 1) * row, 0, (size_t)row * sizeof(*to));
    for (int y = 0; y < s->h; y++) {
        uint16_t *t = to + (ptrdiff_t)(y + 1) * row;
        const uint16_t *f = x + (ptrdiff_t)y * w * s->c;

        memset(t, 0, (size_t)cp * sizeof(*t));
        memset(t + (ptrdiff_t)(w + 1) * cp, 0, (size_t)cp * sizeof(*t));
        t += cp;
        if (cp == s->c) {
            memcpy(t, f, (size_t)w * (size_t)cp * sizeof(*t));
            continue;
        }
        for (int i = 0; i < w; i++, t += 4, f += 3) {
            t[0] = f[0];
            t[1] = f[1];
            t[2] = f[2];
            t[3] = 0;
        }
    }
}

/*
 * 16 pixels, tw of them in a row, by 16 output channels. x points at the upper left input
 * of the first pixel; y at its output. c, stride and tw are constants after inlining.
 */
INLINE void forward_tile(const uint16_t *x, ptrdiff_t row, const uint16_t *w, uint16_t *y,
                         ptrdiff_t yrow, int k, int c, int stride, int tw)
{
    __m512 acc[PIXELS];

#pragma GCC unroll 16
    for (int i = 0; i < PIXELS; i++)
        acc[i] = _mm512_setzero_ps();
    for (int r = 0; r < 3; r++)
        for (int s = 0; s < 3; s++) {
            const uint16_t *p = x + r * row + s * c;

            for (int pair = 0; pair < c / 2; pair++, p += 2, w += 2 * LANES) {
                __m512i wv = _mm512_loadu_si512(w);

#pragma GCC unroll 16
                for (int i = 0; i < PIXELS; i++)
                    DOT_BROADCAST(acc[i], wv,
                                  p + (i / tw) * stride * row + (i % tw) * stride * c);
            }
        }
#pragma GCC unroll 16
    for (int i = 0; i < PIXELS; i++)
        _mm256_storeu_si256((__m256i *)(y + (i / tw) * yrow + (i % tw) * k),
                            (__m256i)_mm512_cvtneps_pbh(acc[i]));
}

INLINE void forward_image(const struct narrow *s, const uint16_t *x, const uint16_t *w,
                          uint16_t *y, int c, int stride, int tw)
{
    int ho = s->h / stride, wo = s->w / stride, th = PIXELS / tw;
    ptrdiff_t row = (ptrdiff_t)(s->w + 2) * c, yrow = (ptrdiff_t)wo * s->k;

    for (int oy = 0; oy < ho; oy += th)
        for (int kb = 0; kb < s->k / LANES; kb++)
            for (int ox = 0; ox < wo; ox += tw)
                forward_tile(x + oy * stride * row + (ptrdiff_t)ox * stride * c, row,
                             w + (ptrdiff_t)kb * 9 * c * LANES,
                             y + oy * yrow + (ptrdiff_t)ox * s->k + kb * LANES, yrow,
                             s->k, c, stride, tw);
}

/* One copy of the loops for each constant c, stride and tile width. */
#define FORWARD(c, stride, tw)                                                           \
    ISA static void forward_##c##_##stride##_##tw(                                       \
        const struct narrow *s, const uint16_t *x, const uint16_t *w, uint16_t *y)       \
    {                                                                                    \
        forward_image(s, x, w, y, c, stride, tw);                                        \
    }
#define FORWARDS(c) FORWARD(c, 1, 8) FORWARD(c, 1, 16) FORWARD(c, 2, 8) FORWARD(c, 2, 16)
FORWARDS(4)
FORWARDS(16)
FORWARDS(32)
FORWARDS(64)

typedef void forward_fn(const struct narrow *s, const uint16_t *x, const uint16_t *w,
                        uint16_t *y);

static forward_fn *forward_for(const struct narrow *s)
{
#define ROW(c)                                                                           \
    {                                                                                    \
        {forward_##c##_1_8, forward_##c##_1_16},                                         \
        {                                                                                \
            forward_##c##_2_8, forward_##c##_2_16                                        \
        }                                                                                \
    }
    static forward_fn *const table[4][2][2] = {ROW(4), ROW(16), ROW(32), ROW(64)};
    int c = s->c == 3 ? 0 : s->c == 16 ? 1 : s->c == 32 ? 2 : 3;

    return table[c][s->stride - 1][s->w / s->stride % 16 == 0];
}

void narrow_forward(const struct narrow *s, const uint16_t *x, const uint16_t *packed,
                    uint16_t *y, void *scratch)
{
    size_t image = align64(padded_image(s) * sizeof(uint16_t));
    size_t ximage = (size_t)s->h * (size_t)s->w * (size_t)s->c;
    size_t yimage =
        (size_t)(s->h / s->stride) * (size_t)(s->w / s->stride) * (size_t)s->k;
    forward_fn *run = forward_for(s);

#pragma omp parallel for schedule(static)
    for (int i = 0; i < s->n; i++) {
        uint16_t *pad =
            (uint16_t *)((char *)scratch + (size_t)omp_get_thread_num() * image);

        pad_image(s, x + (size_t)i * ximage, pad);
        run(s, pad, packed, y + (size_t)i * yimage);
    }
}

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

static struct pairs pairs_of(const struct narrow *s)
{
    struct pairs p = {.per_row = s->w / s->stride / 2};

    if (s->stride == 1) {
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
INLINE void interleave(const uint16_t *a, const uint16_t *b, uint32_t *to, int c)
{
    if (c == 4) {
        for (int i = 0; i < 4; i++)
            to[i] = (uint32_t)a[i] | (uint32_t)b[i] << 16;
        return;
    }
    for (int i = 0; i < c; i += LANES) {
        __m512i lo = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(a + i)));
        __m512i hi = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(b + i)));

        _mm512_storeu_si512(to + i, _mm512_or_si512(lo, _mm512_slli_epi32(hi, 16)));
    }
}

ISA static void pair_input(const struct narrow *s, const struct pairs *p,
                           const uint16_t *pad, uint32_t *to)
{
    int c = padded_channels(s->c);
    ptrdiff_t row = (ptrdiff_t)(s->w + 2) * c;

    for (int a = 0; a < p->arrays; a++)
        for (int y = 0; y < s->h + 2; y++)
            for (int j = 0; j < p->columns; j++, to += c) {
                int col = s->stride == 1 ? 2 * j + a : 4 * j + a;
                const uint16_t *f = pad + y * row + (ptrdiff_t)col * c;

                if (col + s->stride < s->w + 2) /* else a pair that is never read */
                    interleave(f, f + (ptrdiff_t)s->stride * c, to, c);
            }
}

ISA static void pair_output(const struct narrow *s, const uint16_t *dy, uint32_t *to)
{
    size_t pixels = (size_t)(s->h / s->stride) * (size_t)(s->w / s->stride);

    for (size_t i = 0; i < pixels; i += 2)
        interleave(dy + i * (size_t)s->k, dy + (i + 1) * (size_t)s->k,
                   to + i / 2 * (size_t)s->k, s->k);
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

/* The same for 4 input channels and the three taps of one row. */
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
static void grad_image(const struct narrow *s, const struct pairs *p, const uint32_t *x,
                       const uint32_t *dy, float *sum)
{
    int c = padded_channels(s->c), ho = s->h / s->stride;
    ptrdiff_t row = (ptrdiff_t)p->columns * c;

    for (int kb = 0; kb < s->k; kb += LANES)
        for (int r = 0; r < 3; r++) {
            const uint32_t *at[3];

            for (int t = 0; t < 3; t++)
                at[t] = x + (size_t)p->array_of[t] * p->len + r * row +
                        (ptrdiff_t)p->shift[t] * c;
            float *to = sum + ((ptrdiff_t)(kb / LANES) * 9 + 3 * r) * c * LANES;

            if (c == 4) {
                grad_stem(at, s->stride * row, dy + kb, ho, p->per_row, s->k, to);
                continue;
            }
            for (int t = 0; t < 3; t++)
                for (int cb = 0; cb < c; cb += LANES)
                    grad_block(at[t] + cb, s->stride * row, dy + kb, ho, p->per_row, c,
                               s->k, to + ((ptrdiff_t)t * c + cb) * LANES);
        }
}

struct grad_scratch {
    size_t pad, x, dy, sum, total; /* byte offsets in one thread's part, and its size */
};

static struct grad_scratch grad_layout(const struct narrow *s)
{
    struct pairs p = pairs_of(s);
    struct grad_scratch g = {0};
    size_t out =
        (size_t)(s->h / s->stride) * (size_t)(s->w / s->stride) * (size_t)s->k / 2;

    g.x = align64(padded_image(s) * sizeof(uint16_t));
    g.dy = g.x + align64((size_t)p.arrays * p.len * sizeof(uint32_t));
    g.sum = g.dy + align64(out * sizeof(uint32_t));
    g.total = g.sum + align64(narrow_packed_len(s) * sizeof(float));
    return g;
}

size_t narrow_scratch(const struct narrow *s, int threads)
{
    return grad_layout(s).total * (size_t)threads;
}

/* dw[k][tap][c] = the threads' sums, in thread order */
static void reduce_sums(const struct narrow *s, const char *scratch,
                        const struct grad_scratch *g, int threads, float *dw)
{
    int c = padded_channels(s->c);

    for (int k = 0; k < s->k; k++)
        for (int tap = 0; tap < 9; tap++)
            for (int i = 0; i < s->c; i++) {
                size_t at =
                    (((size_t)(k / LANES) * 9 + (size_t)tap) * (size_t)c + (size_t)i) *
                        LANES +
                    (size_t)(k % LANES);
                float v = 0;

                for (int t = 0; t < threads; t++)
                    v += ((const float *)(scratch + (size_t)t * g->total + g->sum))[at];
                dw[((size_t)k * 9 + (size_t)tap) * (size_t)s->c + (size_t)i] = v;
            }
}

void narrow_weight_grad(const struct narrow *s, const uint16_t *x, const uint16_t *dy,
                        float *dw, void *scratch)
{
    struct grad_scratch g = grad_layout(s);
    struct pairs p = pairs_of(s);
    size_t ximage = (size_t)s->h * (size_t)s->w * (size_t)s->c;
    size_t yimage =
        (size_t)(s->h / s->stride) * (size_t)(s->w / s->stride) * (size_t)s->k;
    int threads = 1;

#pragma omp parallel
    {
        char *mine = (char *)scratch + (size_t)omp_get_thread_num() * g.total;
        uint16_t *pad = (uint16_t *)mine;
        uint32_t *px = (uint32_t *)(mine + g.x), *py = (uint32_t *)(mine + g.dy);
        float *sum = (float *)(mine + g.sum);

#pragma omp single
        threads = omp_get_num_threads();
        memset(sum, 0, narrow_packed_len(s) * sizeof(float));
#pragma omp for schedule(static)
        for (int i = 0; i < s->n; i++) {
            pad_image(s, x + (size_t)i * ximage, pad);
            pair_input(s, &p, pad, px);
            pair_output(s, dy + (size_t)i * yimage, py);
            grad_image(s, &p, px, py, sum);
        }
    }
    reduce_sums(s, scratch, &g, threads, dw);
}
