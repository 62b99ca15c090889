/* Forward and data gradient. */
#include "cpu/conv/narrow.h"

#include "base/half.h"
#include "cpu/conv/narrow_loops.h"

enum { PIXELS = 16 };

/* forward and weight gradient */
static const char *narrow_can(const struct device *dev, const struct conv_shape *s)
{
    (void)dev;
    if (s->type != DTYPE_BF16)
        return "bf16 only";
    if (s->kernel_h != 3 || s->kernel_w != 3 || s->pad_h != 1 || s->pad_w != 1 ||
        s->dilation_h != 1 || s->dilation_w != 1 || s->stride_h != s->stride_w)
        return "3x3 with padding 1, without dilation only";
    if (!__builtin_cpu_supports("avx512bf16") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512vl"))
        return "no AVX512-BF16";
    if ((s->c != 3 && s->c != 16 && s->c != 32 && s->c != 64) ||
        (s->k != 16 && s->k != 32 && s->k != 64))
        return "not the channels of our loops";
    if ((s->stride_h != 1 && s->stride_h != 2) || s->h % s->stride_h ||
        s->w % s->stride_w || (s->wo % 16 != 0 && (s->wo != 8 || s->ho % 2 != 0)))
        return "not the stride, height and width of our loops";
    return NULL;
}

static const char *narrow_data_grad_can(const struct device *dev,
                                        const struct conv_shape *s)
{
    struct conv_shape back = conv_rotated(s);
    const char *why = narrow_can(dev, s);

    if (!why && s->stride_h != 1)
        return "stride 1 only";
    return why ? why : narrow_can(dev, &back);
}

/* Same size for both directions. */
static size_t narrow_packed(const struct conv_shape *s)
{
    return sums_of(s) * sizeof(uint16_t);
}

/* dst[k / 16][r][s][c / 2][k % 16][2]; backward: in and out swapped, taps rotated by 180
 * degrees.
 */
static void narrow_pack(const struct device *dev, const struct conv_shape *s,
                        void *packed, const float *w, bool backward)
{
    uint16_t *dst = packed;
    int in = backward ? s->k : s->c, out = backward ? s->c : s->k;
    int inp = padded_channels(in);

    (void)dev;
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

/*
 * 16 pixels, tw of them per row, by 16 output channels. x: upper left input of the first
 * pixel; y: its output. c, stride, and tw are constants after inlining.
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

INLINE void forward_image(const struct conv_shape *s, const uint16_t *x,
                          const uint16_t *w, uint16_t *y, int c, int stride, int tw)
{
    int th = PIXELS / tw;
    ptrdiff_t row = (ptrdiff_t)(s->w + 2) * c, yrow = (ptrdiff_t)s->wo * s->k;

    for (int oy = 0; oy < s->ho; oy += th)
        for (int kb = 0; kb < s->k / LANES; kb++)
            for (int ox = 0; ox < s->wo; ox += tw)
                forward_tile(x + oy * stride * row + (ptrdiff_t)ox * stride * c, row,
                             w + (ptrdiff_t)kb * 9 * c * LANES,
                             y + oy * yrow + (ptrdiff_t)ox * s->k + kb * LANES, yrow,
                             s->k, c, stride, tw);
}

/* One copy of the loops for each constant c, stride, and tile width. */
#define FORWARD(c, stride, tw)                                                           \
    ISA static void forward_##c##_##stride##_##tw(                                       \
        const struct conv_shape *s, const uint16_t *x, const uint16_t *w, uint16_t *y)   \
    {                                                                                    \
        forward_image(s, x, w, y, c, stride, tw);                                        \
    }
#define FORWARDS(c) FORWARD(c, 1, 8) FORWARD(c, 1, 16) FORWARD(c, 2, 8) FORWARD(c, 2, 16)
FORWARDS(4)
FORWARDS(16)
FORWARDS(32)
FORWARDS(64)

typedef void forward_fn(const struct conv_shape *s, const uint16_t *x, const uint16_t *w,
                        uint16_t *y);

static forward_fn *forward_for(const struct conv_shape *s)
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

    return table[c][s->stride_h - 1][s->wo % 16 == 0];
}

struct forward_job {
    const struct device *dev;
    const struct conv_shape *s;
    const struct conv_args *a;
};

static size_t forward_thread_bytes(const struct conv_shape *s)
{
    return align64(padded_image(s) * sizeof(uint16_t));
}

static void forward_thread(void *arg, int thread)
{
    const struct forward_job *j = arg;
    const struct conv_shape *s = j->s;
    uint16_t *pad =
        (uint16_t *)((char *)j->a->scratch + (size_t)thread * forward_thread_bytes(s));
    const uint16_t *x = j->a->src;
    uint16_t *y = j->a->dst;
    int64_t ximage = (int64_t)s->h * s->w * s->c, yimage = (int64_t)s->ho * s->wo * s->k;
    forward_fn *run = forward_for(s);
    int64_t lo, hi;

    cpu_part(s->n, 1, thread, j->dev->threads, &lo, &hi);
    for (int64_t i = lo; i < hi; i++) {
        pad_image(s, x + i * ximage, pad);
        run(s, pad, j->a->packed, y + i * yimage);
    }
}

static size_t narrow_forward_scratch(const struct conv_shape *s, int threads)
{
    return forward_thread_bytes(s) * (size_t)threads;
}

static void narrow_forward(const struct device *dev, const struct conv_shape *s,
                           const struct conv_args *a)
{
    struct forward_job j = {dev, s, a};

    cpu_parallel(dev, forward_thread, &j);
}

static size_t narrow_data_grad_scratch(const struct conv_shape *s, int threads)
{
    struct conv_shape back = conv_rotated(s);

    return narrow_forward_scratch(&back, threads);
}

static void narrow_data_grad(const struct device *dev, const struct conv_shape *s,
                             const struct conv_args *a)
{
    struct conv_shape back = conv_rotated(s);

    narrow_forward(dev, &back, a);
}

const struct conv_loops conv_narrow = {
    .name = "narrow",
    .forward_can = narrow_can,
    .data_grad_can = narrow_data_grad_can,
    .weight_grad_can = narrow_can,
    .slower = conv_pairs_slower,
    .weight_grad_slower = conv_pairs_slower,
    .unfused = true,
    .no_db = true,
    .packed = narrow_packed,
    .pack = narrow_pack,
    .forward_scratch = narrow_forward_scratch,
    .data_grad_scratch = narrow_data_grad_scratch,
    .weight_grad_scratch = narrow_weight_grad_scratch,
    .forward = narrow_forward,
    .data_grad = narrow_data_grad,
    .weight_grad = narrow_weight_grad,
};
