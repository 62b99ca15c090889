#include "cpu/conv_direct.h"

#include <immintrin.h>
#include <string.h>

#include "base/half.h"

#define ISA    __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))
#define INLINE ISA static inline __attribute__((always_inline))

enum { LANES = 16, PIXELS = 12, TAPS = 9, LINE = 64 };

bool direct_supported(const struct direct *s)
{
    bool half = s->type == DTYPE_BF16;

    /* fp32 runs the same functions, which gcc compiles for the whole set. */
    if (!__builtin_cpu_supports("avx512bf16") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512vl") || (!half && s->type != DTYPE_F32))
        return false;
    if (s->kernel_h % 2 == 0 || s->kernel_w % 2 == 0 || s->kernel_h * s->kernel_w > TAPS)
        return false;
    if (s->c != 16 && s->c != 32 && s->c != 64 && s->c != 128)
        return false;
    return (s->k == 16 || s->k % 32 == 0) && s->w >= PIXELS;
}

struct direct direct_backward(const struct direct *s)
{
    struct direct back = *s;

    back.c = s->k;
    back.k = s->c;
    return back;
}

static int taps_of(const struct direct *s)
{
    return s->kernel_h * s->kernel_w;
}

/* Words of a pixel of x, in a broadcast: one channel, or two in bf16. */
static int words_of(const struct direct *s)
{
    return s->type == DTYPE_BF16 ? s->c / 2 : s->c;
}

static size_t align64(size_t n)
{
    return (n + 63) / 64 * 64;
}

/* ---- weights ---- */

size_t direct_packed(const struct direct *s)
{
    return (size_t)taps_of(s) * (size_t)s->c * (size_t)s->k * dtype_size(s->type);
}

struct pack_job {
    const struct direct *s;
    void *packed;
    const float *w;
    bool backward;
};

/* 16 inputs by 16 outputs of one tap: to[i][o], in bf16 to[i / 2][o][i % 2]. */
ISA static void pack_tile(enum dtype type, float tile[LANES][LANES], void *to)
{
    float *f = to;
    uint32_t *h = to;

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
 * packed[out / 16][tap][in / 16] of such tiles. Backward: in and out swapped, taps turned
 * round.
 */
ISA static void pack_part(void *arg, int64_t lo, int64_t hi)
{
    const struct pack_job *j = arg;
    const struct direct *s = j->s;
    int taps = taps_of(s), in = j->backward ? s->k : s->c;
    size_t tile_bytes = LANES * LANES * dtype_size(s->type);
    float tile[LANES][LANES];

    for (int64_t o = lo; o < hi; o += LANES)
        for (int tap = 0; tap < taps; tap++)
            for (int i = 0; i < in; i += LANES) {
                char *to = (char *)j->packed +
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
                pack_tile(s->type, tile, to);
            }
}

void direct_pack(const struct device *dev, const struct direct *s, void *packed,
                 const float *w, bool backward)
{
    struct pack_job j = {s, packed, w, backward};

    cpu_for(dev, backward ? s->c : s->k, LANES, pack_part, &j);
}

/*
 * What the loops read next, brought near while they multiply: `lines` of each of two
 * places in a call.
 */
struct ahead {
    const char *at[2];
    int lines[2];
};

INLINE void fetch(struct ahead *a)
{
    for (int i = 0; i < 2; i++)
        for (int l = 0; l < a->lines[i]; l++, a->at[i] += LINE)
            _mm_prefetch(a->at[i], _MM_HINT_T1);
}

/* `bytes` at p, in `calls` calls. */
static void fetch_in(struct ahead *a, int i, const void *p, size_t bytes, int calls)
{
    a->at[i] = p;
    a->lines[i] = (int)((bytes / LINE + (size_t)calls - 1) / (size_t)calls);
}

/* ---- forward ---- */

/* Where a tap reads the first pixel of a row, and its weights. */
struct tap {
    const uint32_t *x, *w;
};

struct row {
    const struct tap *tap;
    int taps, width, k;
    ptrdiff_t next; /* words from the weights of 16 outputs to those of the next 16 */
    const float *bias;
    const char *mask; /* of this row, as y */
    char *y;
    bool relu;
    struct ahead *ahead;
};

INLINE __m512 multiply(__m512 acc, __m512i w, __m512i x, bool half)
{
    return half ? _mm512_dpbf16_ps(acc, (__m512bh)w, (__m512bh)x)
                : _mm512_fmadd_ps((__m512)w, (__m512)x, acc);
}

/* 16 numbers at element i */
INLINE __m512 load_lanes(const char *p, int64_t i, bool half)
{
    return half ? (__m512)_mm512_slli_epi32(
                      _mm512_cvtepu16_epi32(
                          _mm256_loadu_si256((const __m256i *)(const void *)(p + 2 * i))),
                      16)
                : _mm512_loadu_ps(p + 4 * i);
}

/* 16 channels of a pixel: relu_value and relu_slope of ops/pointwise.h. */
INLINE void finish(const struct row *r, __m512 v, int64_t at, bool half)
{
    const __m512 zero = _mm512_setzero_ps();

    if (r->relu)
        v = _mm512_mask_mov_ps(v, _mm512_cmp_ps_mask(v, zero, _CMP_LT_OQ), zero);
    if (r->mask) {
        __m512 m =
            half ? (__m512)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(
                                                 (const __m256i *)(r->mask + 2 * at))),
                                             16)
                 : _mm512_loadu_ps(r->mask + 4 * at);

        v = _mm512_mask_mov_ps(v, _mm512_cmp_ps_mask(m, zero, _CMP_LE_OQ), zero);
    }
    if (half)
        _mm256_storeu_si256((__m256i *)(r->y + 2 * at), (__m256i)_mm512_cvtneps_pbh(v));
    else
        _mm512_storeu_ps(r->y + 4 * at, v);
}

/* 12 pixels from column ox by `vectors` x 16 outputs from kb on. */
INLINE void forward_tile(const struct row *r, int ox, int kb, bool half, int words,
                         int vectors)
{
    __m512 acc[PIXELS][2];

    fetch(r->ahead);
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
            finish(r, acc[i][v], (int64_t)(ox + i) * r->k + kb + v * LANES, half);
}

/* The last tile of a row begins early: some pixels are made twice. */
INLINE void forward_row(const struct row *r, bool half, int words, int vectors)
{
    for (int kb = 0; kb < r->k; kb += vectors * LANES)
        for (int ox = 0; ox < r->width; ox += PIXELS)
            forward_tile(r, ox + PIXELS <= r->width ? ox : r->width - PIXELS, kb, half,
                         words, vectors);
}

/* One copy of the loops for each type, constant number of words and of vectors. */
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

static row_fn *row_for(const struct direct *s)
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

/* Zeros on both sides of a row of x, where taps lie beside each other. */
static int border(const struct direct *s)
{
    return s->kernel_w / 2 * s->dilation_w;
}

static size_t padded_row(const struct direct *s)
{
    return (size_t)(s->w + 2 * border(s)) * (size_t)words_of(s);
}

static size_t forward_thread(const struct direct *s)
{
    return border(s) ? align64((size_t)s->kernel_h * padded_row(s) * sizeof(uint32_t))
                     : 0;
}

size_t direct_forward_scratch(const struct direct *s, int threads)
{
    return forward_thread(s) * (size_t)threads;
}

struct forward_job {
    const struct device *dev;
    const struct direct *s;
    const struct direct_args *a;
};

/* Row y of an image with its border. */
static const uint32_t *with_border(const struct direct *s, const uint32_t *x,
                                   uint32_t *to)
{
    size_t side = (size_t)border(s) * (size_t)words_of(s);
    size_t row = (size_t)s->w * (size_t)words_of(s);

    if (!side)
        return x;
    memset(to, 0, side * sizeof(*to));
    memcpy(to + side, x, row * sizeof(*to));
    memset(to + side + row, 0, side * sizeof(*to));
    return to;
}

/* The taps of row y of an image that lie inside of it. */
static int find_taps(const struct direct *s, const uint32_t *image, int y,
                     const uint32_t *w, uint32_t *scratch, struct tap *tap)
{
    int n = 0, words = words_of(s);

    for (int r = 0; r < s->kernel_h; r++) {
        int from = y + (r - s->kernel_h / 2) * s->dilation_h;
        const uint32_t *x;

        if (from < 0 || from >= s->h)
            continue;
        x = with_border(s, image + (ptrdiff_t)from * s->w * words,
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
    const struct direct *s = j->s;
    const struct direct_args *a = j->a;
    size_t yrow = (size_t)s->w * (size_t)s->k * dtype_size(s->type);
    uint32_t *scratch =
        (uint32_t *)((char *)a->scratch + (size_t)thread * forward_thread(s));
    row_fn *run = row_for(s);
    int64_t xrow = (int64_t)s->w * words_of(s), lo, hi;
    int below = s->kernel_h / 2 * s->dilation_h + 1;
    int tiles = (s->w + PIXELS - 1) / PIXELS * ((s->k + 2 * LANES - 1) / (2 * LANES));
    struct ahead ahead = {0};
    struct tap tap[TAPS];

    cpu_part((int64_t)s->n * s->h, 1, thread, j->dev->threads, &lo, &hi);
    for (int64_t at = lo; at < hi; at++) {
        int y = (int)(at % s->h);
        const uint32_t *image = (const uint32_t *)a->x + (at - y) * xrow;

        if (y + below < s->h)
            fetch_in(&ahead, 0, image + (y + below) * xrow, (size_t)xrow * 4, tiles);

        run(&(const struct row){
            .tap = tap,
            .taps = find_taps(s, image, y, a->packed, scratch, tap),
            .width = s->w,
            .k = s->k,
            .next = (ptrdiff_t)taps_of(s) * words_of(s) * LANES,
            .bias = a->bias,
            .mask = a->mask ? (const char *)a->mask + (size_t)at * yrow : NULL,
            .y = (char *)a->y + (size_t)at * yrow,
            .relu = a->relu,
            .ahead = &ahead,
        });
        ahead.lines[0] = 0;
    }
}

void direct_forward(const struct device *dev, const struct direct *s,
                    const struct direct_args *a)
{
    struct forward_job j = {dev, s, a};

    cpu_parallel(dev, forward_thread_rows, &j);
}

/* ---- weight gradient ---- */

/*
 * A thread goes through its rows in chunks of a few, copied so that all that a tile reads
 * lies in a line: steps[channels / 16][step][16 words]. A step is a pixel in fp32, two
 * neighbours in bf16, whose channels come in the order that unpacking leaves them in.
 */
enum { STEPS = 160 };

static int row_steps(const struct direct *s)
{
    return s->type == DTYPE_BF16 ? (s->w + 1) / 2 : s->w;
}

static int chunk_rows(const struct direct *s)
{
    int rows = STEPS / row_steps(s);

    return rows < 1 ? 1 : rows > s->h ? s->h : rows;
}

struct grad_scratch {
    size_t x, dy, sum, bias, total; /* byte offsets in one thread's part, and its size */
};

static struct grad_scratch grad_layout(const struct direct *s)
{
    size_t steps = (size_t)(chunk_rows(s) * row_steps(s)) * sizeof(uint32_t);
    struct grad_scratch g = {0};

    g.dy = align64(steps * (size_t)s->c);
    g.sum = g.dy + align64(steps * (size_t)s->k);
    g.bias = g.sum + (size_t)taps_of(s) * (size_t)s->c * (size_t)s->k * sizeof(float);
    g.total = g.bias + align64((size_t)s->k * sizeof(double));
    return g;
}

size_t direct_weight_grad_scratch(const struct direct *s, int threads)
{
    return grad_layout(s).total * (size_t)threads;
}

/* 16 channels of pixels a and b, each NULL outside of the image, as one step. */
INLINE void step_half(const uint16_t *a, const uint16_t *b, uint32_t *to)
{
    __m256i va = a ? _mm256_loadu_si256((const __m256i *)a) : _mm256_setzero_si256();
    __m256i vb = b ? _mm256_loadu_si256((const __m256i *)b) : _mm256_setzero_si256();

    _mm256_storeu_si256((__m256i *)to, _mm256_unpacklo_epi16(va, vb));
    _mm256_storeu_si256((__m256i *)(to + 8), _mm256_unpackhi_epi16(va, vb));
}

/* The channel of a group of 16 that stands at place i. */
static int place_half(int i)
{
    return (i & 3) | (i >> 2 & 1) << 3 | (i >> 3) << 2;
}

/* Row of `width` pixels, `shift` columns on, of 16 channels. */
INLINE void copy_half(const uint16_t *row, int width, int channels, int shift,
                      uint32_t *to)
{
    for (int i = 0; i < width; i += 2, to += LANES) {
        int x = i + shift;
        const uint16_t *p = row + (ptrdiff_t)x * channels;

        step_half(x >= 0 && x < width ? p : NULL,
                  i + 1 < width && x + 1 >= 0 && x + 1 < width ? p + channels : NULL, to);
    }
}

INLINE void copy_float(const uint32_t *row, int width, int channels, int shift,
                       uint32_t *to)
{
    for (int i = 0; i < width; i++, to += LANES) {
        int x = i + shift;

        _mm512_storeu_si512(to, x >= 0 && x < width
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
 * `rows` rows of an image, shifted by `shift` columns, as steps; total[channels] += their
 * pixels, if it is not NULL.
 */
ISA static void copy_rows(const struct direct *s, const char *from, int channels,
                          int rows, int shift, uint32_t *to, double *total)
{
    bool half = s->type == DTYPE_BF16;
    size_t size = dtype_size(s->type), row = (size_t)s->w * (size_t)channels * size;

    for (int c = 0; c < channels; c += LANES) {
        float sum[LANES] = {0};

        for (int y = 0; y < rows; y++, to += (ptrdiff_t)row_steps(s) * LANES) {
            const void *p = from + (size_t)y * row + (size_t)c * size;

            if (half)
                copy_half(p, s->w, channels, shift, to);
            else
                copy_float(p, s->w, channels, shift, to);
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
 * One tap: sum[k / 16 / vectors][c][vectors x 16] += over `steps` steps; dy has `next` of
 * them from a group of 16 channels to the next.
 */
INLINE void grad_tap(const struct direct *s, const uint32_t *x, const uint32_t *dy,
                     int steps, int next, float *sum, struct ahead *ahead, bool half)
{
    ptrdiff_t xgroup = (ptrdiff_t)steps * LANES, group = (ptrdiff_t)next * LANES;

    if (s->k == LANES) {
        for (int i = 0; i < s->c; i += LANES, x += xgroup, sum += LANES * LANES) {
            fetch(ahead);
            grad_tile(x, dy, dy, steps, sum, half, 16, 1);
        }
        return;
    }
    for (int kb = 0; kb < s->k; kb += 2 * LANES, dy += 2 * group)
        for (int i = 0; i < s->c; i += 8, sum += 8 * 2 * LANES) {
            fetch(ahead);
            grad_tile(x + i / LANES * xgroup + i % LANES, dy, dy + group, steps, sum,
                      half, 8, 2);
        }
}

ISA static void grad_tap_float(const struct direct *s, const uint32_t *x,
                               const uint32_t *dy, int steps, int next, float *sum,
                               struct ahead *ahead)
{
    grad_tap(s, x, dy, steps, next, sum, ahead, false);
}

ISA static void grad_tap_half(const struct direct *s, const uint32_t *x,
                              const uint32_t *dy, int steps, int next, float *sum,
                              struct ahead *ahead)
{
    grad_tap(s, x, dy, steps, next, sum, ahead, true);
}

struct grad_job {
    const struct device *dev;
    const struct direct *s;
    const char *x, *dy;
    float *dw, *db;
    char *scratch;
};

/* Tiles of a chunk. */
static int grad_tiles(const struct direct *s)
{
    return taps_of(s) * (s->k == LANES ? s->c / LANES : s->k / (2 * LANES) * (s->c / 8));
}

/*
 * Rows [y, y + rows) of one image. A row that a tap finds outside of the image is left
 * out: the rows that remain lie together.
 */
static void grad_chunk(const struct grad_job *j, const char *x, const char *dy, int y,
                       int rows, char *mine)
{
    const struct direct *s = j->s;
    struct grad_scratch g = grad_layout(s);
    uint32_t *sx = (uint32_t *)(mine + g.x), *sdy = (uint32_t *)(mine + g.dy);
    float *sum = (float *)(mine + g.sum);
    size_t row = (size_t)s->w * dtype_size(s->type);
    int steps = row_steps(s), below = rows + s->kernel_h / 2 * s->dilation_h;
    struct ahead ahead = {0};

    /* the next chunk: its rows of dy, and those of x that no chunk has seen yet */
    fetch_in(&ahead, 0, dy + (size_t)(y + rows) * row * (size_t)s->k,
             (size_t)rows * row * (size_t)s->k, grad_tiles(s));
    fetch_in(&ahead, 1, x + (size_t)(y + below) * row * (size_t)s->c,
             (size_t)rows * row * (size_t)s->c, grad_tiles(s));
    copy_rows(s, dy + (size_t)y * row * (size_t)s->k, s->k, rows, 0, sdy,
              j->db ? (double *)(mine + g.bias) : NULL);
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
                s, sx, d, (hi - lo) * steps, rows * steps, sum, &ahead);
        }
    }
}

static void grad_thread(void *arg, int thread)
{
    const struct grad_job *j = arg;
    const struct direct *s = j->s;
    struct grad_scratch g = grad_layout(s);
    char *mine = j->scratch + (size_t)thread * g.total;
    size_t pixels = (size_t)s->h * (size_t)s->w * dtype_size(s->type);
    int64_t lo, hi;

    memset(mine + g.sum, 0, g.total - g.sum);
    cpu_part((int64_t)s->n * s->h, 1, thread, j->dev->threads, &lo, &hi);
    while (lo < hi) {
        int64_t image = lo / s->h;
        int y = (int)(lo % s->h), rows = chunk_rows(s);

        if (rows > s->h - y)
            rows = s->h - y;
        if (rows > hi - lo)
            rows = (int)(hi - lo);
        grad_chunk(j, j->x + (size_t)image * pixels * (size_t)s->c,
                   j->dy + (size_t)image * pixels * (size_t)s->k, y, rows, mine);
        lo += rows;
    }
}

/* dw[o][tap][i] of 16 by 16 channels = the threads' sums, in thread order. */
ISA static void reduce_tile(const struct grad_job *j, int tap, int o, int i)
{
    const struct direct *s = j->s;
    struct grad_scratch g = grad_layout(s);
    bool half = s->type == DTYPE_BF16;
    int wide = s->k == LANES ? LANES : 2 * LANES;
    ptrdiff_t at = (ptrdiff_t)tap * s->c * s->k + (ptrdiff_t)(o / wide) * s->c * wide +
                   (ptrdiff_t)i * wide + o % wide;
    float tile[LANES][LANES];

    for (int a = 0; a < LANES; a++, at += wide) {
        __m512 v = _mm512_setzero_ps();

        for (int t = 0; t < j->dev->threads; t++)
            v = _mm512_add_ps(
                v, _mm512_loadu_ps(
                       (const float *)(j->scratch + (size_t)t * g.total + g.sum) + at));
        _mm512_storeu_ps(tile[half ? place_half(a) : a], v);
    }
    for (int b = 0; b < LANES; b++) {
        float *to =
            j->dw +
            ((ptrdiff_t)(o + (half ? place_half(b) : b)) * taps_of(s) + tap) * s->c + i;

        for (int a = 0; a < LANES; a++)
            to[a] = tile[a][b];
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

void direct_weight_grad(const struct device *dev, const struct direct *s, const void *x,
                        const void *dy, float *dw, float *db, void *scratch)
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
