/* Forward and data gradient, and their weights. */
#include "cpu/conv/direct.h"

#include <string.h>

#include "cpu/conv/activate_16.h"
#include "cpu/conv/direct_loops.h"

enum { PIXELS = 12, TAPS = 9 };

/* forward and weight gradient */
static const char *direct_can(const struct device *dev, const struct conv_shape *s)
{
    bool half = s->type == DTYPE_BF16;

    (void)dev;
    /* fp32 runs the same functions, which are compiled for the same instruction set. */
    if (!__builtin_cpu_supports("avx512bf16") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512vl") || (!half && s->type != DTYPE_F32))
        return "no AVX512-BF16, or another type";
    if (s->stride_h != 1 || s->stride_w != 1)
        return "stride 1 only";
    if (2 * s->pad_h != (s->kernel_h - 1) * s->dilation_h ||
        2 * s->pad_w != (s->kernel_w - 1) * s->dilation_w)
        return "height and width must stay";
    if ((s->kernel_h == 1) == (s->kernel_w == 1) || s->kernel_h % 2 == 0 ||
        s->kernel_w % 2 == 0 || s->kernel_h * s->kernel_w > TAPS)
        return "not 1 by n";
    if ((s->c != 16 && s->c != 32 && s->c != 64 && s->c != 128) ||
        (s->k != 16 && s->k % 32 != 0) || s->w < PIXELS)
        return "not the channels of our loops, or too narrow";
    return NULL;
}

static const char *direct_data_grad_can(const struct device *dev,
                                        const struct conv_shape *s)
{
    struct conv_shape back = conv_rotated(s);
    const char *why = direct_can(dev, s);

    return why ? why : direct_can(dev, &back);
}

/* 32-bit words per pixel of x, each broadcast at once: one channel, or two in bf16. */
static int words_of(const struct conv_shape *s)
{
    return s->type == DTYPE_BF16 ? s->c / 2 : s->c;
}

/* ---- weights ---- */

static size_t direct_packed(const struct conv_shape *s)
{
    return (size_t)taps_of(s) * (size_t)s->c * (size_t)s->k * dtype_size(s->type);
}

struct pack_job {
    const struct conv_shape *s;
    void *packed;
    const float *w;
    bool backward;
};

/* 16 inputs by 16 outputs of one tap: to[i][o], in bf16 to[i / 2][o][i % 2]. */
ISA static void pack_tile(enum dtype type, float tile[LANES][LANES], void *dst)
{
    float *f = dst;
    uint32_t *h = dst;

    if (type == DTYPE_F32) {
        memcpy(f, tile, sizeof(float) * LANES * LANES);
        return;
    }
    for (int i = 0; i < LANES; i += 2, h += LANES) {
        __m256i a = (__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(tile[i]));
        __m256i b = (__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(tile[i + 1]));

        _mm512_storeu_si512(
            h, _mm512_or_si512(_mm512_cvtepu16_epi32(a),
                               _mm512_slli_epi32(_mm512_cvtepu16_epi32(b), 16)));
    }
}

/*
 * packed[out / 16][tap][in / 16] of such tiles. Backward: in and out swapped, taps
 * rotated by 180 degrees.
 */
ISA static void pack_part(void *arg, int64_t lo, int64_t hi)
{
    const struct pack_job *j = arg;
    const struct conv_shape *s = j->s;
    int taps = taps_of(s), in = j->backward ? s->k : s->c;
    size_t tile_bytes = LANES * LANES * dtype_size(s->type);
    float tile[LANES][LANES];

    for (int64_t o = lo; o < hi; o += LANES)
        for (int tap = 0; tap < taps; tap++)
            for (int i = 0; i < in; i += LANES) {
                char *dst =
                    (char *)j->packed +
                    (size_t)((o / LANES * taps + tap) * (in / LANES) + i / LANES) *
                        tile_bytes;

                for (int a = 0; a < LANES; a++) {
                    int64_t row = (j->backward ? i : o) + a;
                    int64_t t = j->backward ? taps - 1 - tap : tap;
                    const float *w =
                        j->w + (row * taps + t) * s->c + (j->backward ? o : i);

                    for (int b = 0; b < LANES; b++)
                        tile[j->backward ? a : b][j->backward ? b : a] = w[b];
                }
                pack_tile(s->type, tile, dst);
            }
}

static void direct_pack(const struct device *dev, const struct conv_shape *s,
                        void *packed, const float *w, bool backward)
{
    struct pack_job j = {s, packed, w, backward};

    cpu_for(dev, backward ? s->c : s->k, LANES, pack_part, &j);
}

/* ---- forward ---- */

/* Addresses of the first pixel that a tap reads in a row, and of its weights. */
struct tap {
    const uint32_t *x, *w;
};

struct row {
    const struct tap *tap;
    int taps, width, k;
    ptrdiff_t next; /* words between the weights of groups of 16 outputs */
    const float *bias;
    const char *relu_mask; /* of this row, like y */
    char *y;
    struct loop_activation act;
    const struct loops *loops;
    struct prefetch *prefetch;
};

/* Epilogue of 16 channels of a pixel: relu_value and relu_slope of ops/pointwise.h. */
INLINE void apply_epilogue(const struct row *r, __m512 v, int64_t pos, bool half)
{
    const __m512 zero = _mm512_setzero_ps();

    if (loop_relu(r->act))
        v = _mm512_mask_mov_ps(v, _mm512_cmp_ps_mask(v, zero, _CMP_LT_OQ), zero);
    else if (r->act.row)
        ACTIVATE_16(r->loops, half ? DTYPE_BF16 : DTYPE_F32, r->act, v);
    if (r->relu_mask) {
        __m512 m = half ? (__m512)_mm512_slli_epi32(
                              _mm512_cvtepu16_epi32(_mm256_loadu_si256(
                                  (const __m256i *)(r->relu_mask + 2 * pos))),
                              16)
                        : _mm512_loadu_ps(r->relu_mask + 4 * pos);

        v = _mm512_mask_mov_ps(v, _mm512_cmp_ps_mask(m, zero, _CMP_LE_OQ), zero);
    }
    if (half)
        _mm256_storeu_si256((__m256i *)(r->y + 2 * pos), (__m256i)_mm512_cvtneps_pbh(v));
    else
        _mm512_storeu_ps(r->y + 4 * pos, v);
}

/* 12 pixels from column ox by `vectors` x 16 outputs from kb on. */
INLINE void forward_tile(const struct row *r, int ox, int kb, bool half, int words,
                         int vectors)
{
    __m512 acc[PIXELS][2];

    fetch(r->prefetch);
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) {
        __m512 b =
            r->bias ? _mm512_loadu_ps(r->bias + kb + v * LANES) : _mm512_setzero_ps();

#pragma GCC unroll 12
        for (int i = 0; i < PIXELS; i++)
            acc[i][v] = b;
    }
    for (int t = 0; t < r->taps; t++) {
        const uint32_t *x = r->tap[t].x + (ptrdiff_t)ox * words;
        const uint32_t *w = r->tap[t].w + kb / LANES * r->next;

        for (int j = 0; j < words; j++, x++, w += LANES) {
            __m512i w0 = _mm512_loadu_si512(w);
            __m512i w1 = vectors > 1 ? _mm512_loadu_si512(w + r->next) : w0;

#pragma GCC unroll 12
            for (int i = 0; i < PIXELS; i++) {
                __m512i b = _mm512_set1_epi32((int)x[i * words]);

                acc[i][0] = multiply(acc[i][0], w0, b, half);
                if (vectors > 1)
                    acc[i][1] = multiply(acc[i][1], w1, b, half);
            }
        }
    }
#pragma GCC unroll 12
    for (int i = 0; i < PIXELS; i++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            apply_epilogue(r, acc[i][v], (int64_t)(ox + i) * r->k + kb + v * LANES, half);
}

/* The last tile of a row overlaps the previous one: some pixels are computed twice. */
INLINE void forward_row(const struct row *r, bool half, int words, int vectors)
{
    for (int kb = 0; kb < r->k; kb += vectors * LANES)
        for (int ox = 0; ox < r->width; ox += PIXELS)
            forward_tile(r, ox + PIXELS <= r->width ? ox : r->width - PIXELS, kb, half,
                         words, vectors);
}

/* One copy of the loops for each type and constant numbers of words and vectors. */
#define ROW(half, words, vectors)                                                        \
    ISA static void row_##half##_##words##_##vectors(const struct row *r)                \
    {                                                                                    \
        forward_row(r, half, words, vectors);                                            \
    }
#define ROWS(half, words) ROW(half, words, 1) ROW(half, words, 2)
ROWS(0, 16)
ROWS(0, 32)
ROWS(0, 64)
ROWS(0, 128)
ROWS(1, 8)
ROWS(1, 16)
ROWS(1, 32)
ROWS(1, 64)

typedef void row_fn(const struct row *r);

static row_fn *row_for(const struct conv_shape *s)
{
    static row_fn *const table[2][4][2] = {
        {{row_0_16_1, row_0_16_2},
         {row_0_32_1, row_0_32_2},
         {row_0_64_1, row_0_64_2},
         {row_0_128_1, row_0_128_2}},
        {{row_1_8_1, row_1_8_2},
         {row_1_16_1, row_1_16_2},
         {row_1_32_1, row_1_32_2},
         {row_1_64_1, row_1_64_2}},
    };
    int c = s->c == 16 ? 0 : s->c == 32 ? 1 : s->c == 64 ? 2 : 3;

    return table[s->type == DTYPE_BF16][c][s->k > LANES];
}

/* Zeros on both sides of a row of x, if the kernel has several columns. */
static int border(const struct conv_shape *s)
{
    return s->kernel_w / 2 * s->dilation_w;
}

static size_t padded_row(const struct conv_shape *s)
{
    return (size_t)(s->w + 2 * border(s)) * (size_t)words_of(s);
}

static size_t forward_thread(const struct conv_shape *s)
{
    return border(s) ? align64((size_t)s->kernel_h * padded_row(s) * sizeof(uint32_t))
                     : 0;
}

static size_t direct_forward_scratch(const struct conv_shape *s, int threads)
{
    return forward_thread(s) * (size_t)threads;
}

struct forward_job {
    const struct device *dev;
    const struct conv_shape *s;
    const struct conv_args *a;
};

/* Returns row y of an image with its border. */
static const uint32_t *with_border(const struct conv_shape *s, const uint32_t *x,
                                   uint32_t *dst)
{
    size_t side = (size_t)border(s) * (size_t)words_of(s);
    size_t row = (size_t)s->w * (size_t)words_of(s);

    if (!side)
        return x;
    memset(dst, 0, side * sizeof(*dst));
    memcpy(dst + side, x, row * sizeof(*dst));
    memset(dst + side + row, 0, side * sizeof(*dst));
    return dst;
}

/* Finds the taps of row y that are inside the image. */
static int find_taps(const struct conv_shape *s, const uint32_t *image, int y,
                     const uint32_t *w, uint32_t *scratch, struct tap *tap)
{
    int n = 0, words = words_of(s);

    for (int r = 0; r < s->kernel_h; r++) {
        int start = y + (r - s->kernel_h / 2) * s->dilation_h;
        const uint32_t *x;

        if (start < 0 || start >= s->h)
            continue;
        x = with_border(s, image + (ptrdiff_t)start * s->w * words,
                        scratch + (size_t)r * padded_row(s));
        for (int c = 0; c < s->kernel_w; c++)
            tap[n++] = (struct tap){
                x + (ptrdiff_t)c * s->dilation_w * words,
                w + ((ptrdiff_t)r * s->kernel_w + c) * words * LANES,
            };
    }
    return n;
}

static void forward_thread_rows(void *arg, int thread)
{
    const struct forward_job *j = arg;
    const struct conv_shape *s = j->s;
    const struct conv_args *a = j->a;
    size_t yrow = (size_t)s->w * (size_t)s->k * dtype_size(s->type);
    uint32_t *scratch =
        (uint32_t *)((char *)a->scratch + (size_t)thread * forward_thread(s));
    row_fn *run = row_for(s);
    int64_t xrow = (int64_t)s->w * words_of(s), lo, hi;
    int below = s->kernel_h / 2 * s->dilation_h + 1;
    int tiles = (s->w + PIXELS - 1) / PIXELS * ((s->k + 2 * LANES - 1) / (2 * LANES));
    struct prefetch prefetch = {0};
    struct tap tap[TAPS];

    cpu_part((int64_t)s->n * s->h, 1, thread, j->dev->threads, &lo, &hi);
    for (int64_t pos = lo; pos < hi; pos++) {
        int y = (int)(pos % s->h);
        const uint32_t *image = (const uint32_t *)a->src + (pos - y) * xrow;

        if (y + below < s->h)
            fetch_in(&prefetch, 0, image + (y + below) * xrow, (size_t)xrow * 4, tiles);

        run(&(const struct row){
            .tap = tap,
            .taps = find_taps(s, image, y, a->packed, scratch, tap),
            .width = s->w,
            .k = s->k,
            .next = (ptrdiff_t)taps_of(s) * words_of(s) * LANES,
            .bias = a->bias,
            .relu_mask =
                a->relu_mask ? (const char *)a->relu_mask + (size_t)pos * yrow : NULL,
            .y = (char *)a->dst + (size_t)pos * yrow,
            .act = a->act,
            .loops = j->dev->loops,
            .prefetch = &prefetch,
        });
        prefetch.lines[0] = 0;
    }
}

static void direct_forward(const struct device *dev, const struct conv_shape *s,
                           const struct conv_args *a)
{
    struct forward_job j = {dev, s, a};

    cpu_parallel(dev, forward_thread_rows, &j);
}

static size_t direct_data_grad_scratch(const struct conv_shape *s, int threads)
{
    struct conv_shape back = conv_rotated(s);

    return direct_forward_scratch(&back, threads);
}

static void direct_data_grad(const struct device *dev, const struct conv_shape *s,
                             const struct conv_args *a)
{
    struct conv_shape back = conv_rotated(s);

    direct_forward(dev, &back, a);
}

const struct conv_loops conv_direct = {
    .name = "direct",
    .forward_can = direct_can,
    .data_grad_can = direct_data_grad_can,
    .weight_grad_can = direct_can,
    .slower = conv_pairs_slower,
    .weight_grad_slower = conv_pairs_slower,
    .packed = direct_packed,
    .pack = direct_pack,
    .forward_scratch = direct_forward_scratch,
    .data_grad_scratch = direct_data_grad_scratch,
    .weight_grad_scratch = direct_weight_grad_scratch,
    .forward = direct_forward,
    .data_grad = direct_data_grad,
    .weight_grad = direct_weight_grad,
};
