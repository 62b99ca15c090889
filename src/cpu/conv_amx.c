/*
 * Forward and data gradient: blocks of 32 positions by 32 channels, or 64 by 16, whose
 * sums stay in four tiles while the taps and the source's channels go by.
 */
#include "cpu/conv_amx.h"

#include "cpu/amx.h"
#include "cpu/conv_amx_tiles.h"
#include "cpu/conv_amx_window.h"

enum {
    COPY = 384 << 10, /* bytes of a copy that should stay in a core's cache */
};

/* forward and weight gradient */
static const char *amx_can(const struct device *dev, const struct conv_shape *s)
{
    if (!dev->amx)
        return "no AMX";
    if (s->type != DTYPE_BF16)
        return "bf16 only";
    if (s->k % LANES)
        return "multiples of 16 channels only";
    if (s->c % LANES && (s->c > LANES || s->dilation_w > 1))
        return "less than 16 channels, or multiples of 16, only";
    if (amx_reach(s).taps > AMX_TAPS)
        return "too many taps";
    return NULL;
}

static const char *amx_data_grad_can(const struct device *dev, const struct conv_shape *s)
{
    return s->c % LANES ? "multiples of 16 channels only" : amx_can(dev, s);
}

/* What will be read soon, brought near while tiles multiply: some lines in a step. */
struct ahead {
    const char *at;
    int lines;
};

INLINE void fetch(struct ahead *a)
{
    for (int i = 0; i < a->lines; i++, a->at += LINE)
        _mm_prefetch(a->at, _MM_HINT_T1);
}

/* One band of results: what its blocks have in common. */
struct band {
    /* source */
    const uint16_t *x[AMX_TAPS]; /* where each tap reads for position 0 */
    const uint16_t *w[AMX_TAPS]; /* its weights of the first 16 channels */
    int taps, depth, steps;      /* steps of depth channels each */
    ptrdiff_t step;              /* elements from one position to the next */
    ptrdiff_t panel;      /* elements from the weights of 16 channels to the next */
    const uint16_t *next; /* read from memory while this band runs, */
    ptrdiff_t next_len;   /* so many elements */
    /* result */
    uint16_t *y;          /* position 0 */
    const uint16_t *mask; /* the same, or NULL */
    const float *bias;
    bool relu;
    int channels, pitch, cols, rows;
    ptrdiff_t col, row; /* elements from one to the next */
};

/* Sums of 2 x 16 positions by 2 x 16 channels: sum[position / 16][channel / 16]. */
INLINE void multiply_2x2(const struct band *b, ptrdiff_t x, ptrdiff_t w, int depth,
                         struct ahead *ahead, float sum[4][TILE])
{
    const ptrdiff_t next = LANES * b->step, bytes = b->step * 2;

    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int t = 0; t < b->taps; t++) {
        const uint16_t *px = b->x[t] + x, *pw = b->w[t] + w;

        for (int i = 0; i < b->steps; i++, px += depth, pw += depth * LANES) {
            fetch(ahead);
            _tile_loadd(6, pw, LINE);
            _tile_loadd(4, px, bytes);
            _tile_dpbf16ps(0, 4, 6);
            _tile_loadd(7, pw + b->panel, LINE);
            _tile_dpbf16ps(1, 4, 7);
            _tile_loadd(5, px + next, bytes);
            _tile_dpbf16ps(2, 5, 6);
            _tile_dpbf16ps(3, 5, 7);
        }
    }
    _tile_stored(0, sum[0], LINE);
    _tile_stored(1, sum[1], LINE);
    _tile_stored(2, sum[2], LINE);
    _tile_stored(3, sum[3], LINE);
}

/* Of 4 x 16 positions by 16 channels: sum[position / 16]. */
INLINE void multiply_4x1(const struct band *b, ptrdiff_t x, ptrdiff_t w, int depth,
                         struct ahead *ahead, float sum[4][TILE])
{
    const ptrdiff_t next = LANES * b->step, bytes = b->step * 2;

    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int t = 0; t < b->taps; t++) {
        const uint16_t *px = b->x[t] + x, *pw = b->w[t] + w;

        for (int i = 0; i < b->steps; i++, px += depth, pw += depth * LANES) {
            fetch(ahead);
            _tile_loadd(6, pw, LINE);
            _tile_loadd(4, px, bytes);
            _tile_dpbf16ps(0, 4, 6);
            _tile_loadd(5, px + next, bytes);
            _tile_dpbf16ps(1, 5, 6);
            _tile_loadd(4, px + 2 * next, bytes);
            _tile_dpbf16ps(2, 4, 6);
            _tile_loadd(5, px + 3 * next, bytes);
            _tile_dpbf16ps(3, 5, 6);
        }
    }
    _tile_stored(0, sum[0], LINE);
    _tile_stored(1, sum[1], LINE);
    _tile_stored(2, sum[2], LINE);
    _tile_stored(3, sum[3], LINE);
}

/* 16 results: relu_value and relu_slope of ops/pointwise.h. */
INLINE __m512 finish(const struct band *b, __m512 v, __m512 bias, const uint16_t *mask)
{
    const __m512 zero = _mm512_setzero_ps();

    v = _mm512_add_ps(v, bias);
    if (b->relu)
        v = _mm512_mask_mov_ps(v, _mm512_cmp_ps_mask(v, zero, _CMP_LT_OQ), zero);
    if (mask) {
        __m512 m = (__m512)_mm512_slli_epi32(
            _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)mask)), 16);

        v = _mm512_mask_mov_ps(v, _mm512_cmp_ps_mask(m, zero, _CMP_LE_OQ), zero);
    }
    return v;
}

/* Positions [p, p + 64 / vectors) of `vectors` x 16 channels from k on go to y. */
INLINE void store_block(const struct band *b, float sum[4][TILE], int p, int k,
                        int vectors)
{
    const __m512 none = _mm512_setzero_ps();
    __m512 bias0 = b->bias ? _mm512_loadu_ps(b->bias + k) : none;
    __m512 bias1 = b->bias && vectors > 1 ? _mm512_loadu_ps(b->bias + k + LANES) : none;
    int row = p / b->pitch, col = p % b->pitch;

    for (int i = 0; i < 4 * LANES / vectors; i++) {
        const float *at = sum[i / LANES * vectors] + i % LANES * LANES;
        ptrdiff_t to = row * b->row + col * b->col + k;
        const uint16_t *mask = b->mask ? b->mask + to : NULL;

        if (row >= b->rows)
            return;
        if (col < b->cols) {
            __m512 v0 = finish(b, _mm512_load_ps(at), bias0, mask);

            if (vectors > 1) {
                __m512 v1 = finish(b, _mm512_load_ps(at + TILE), bias1,
                                   mask ? mask + LANES : NULL);

                _mm512_storeu_si512(b->y + to, (__m512i)_mm512_cvtne2ps_pbh(v1, v0));
            } else {
                _mm256_storeu_si256((__m256i *)(b->y + to),
                                    (__m256i)_mm512_cvtneps_pbh(v0));
            }
        }
        if (++col == b->pitch) {
            col = 0;
            row++;
        }
    }
}

/*
 * All results of a band. `exact`: nothing may be read behind the last position, so the
 * last block begins early, and makes some results twice.
 *
 * A block's source stays in the nearest cache while the weights go by.
 */
INLINE void run_band(const struct band *b, bool exact, int depth, int vectors)
{
    enum { TILES = 4 };
    const int block = TILES * LANES / vectors;
    const int all = (b->rows - 1) * b->pitch + b->cols;
    const int blocks = (all + block - 1) / block;
    const int multiplies = b->channels / (vectors * LANES) * b->taps * b->steps;
    struct ahead ahead = {.at = (const char *)b->next};
    float sum[TILES][TILE] __attribute__((aligned(64)));

    if (multiplies)
        ahead.lines = (int)(b->next_len * 2 / LINE / ((ptrdiff_t)blocks * multiplies));
    for (int p = 0; p < all; p += block) {
        int at = exact && p + block > all ? all - block : p;

        for (int k = 0; k < b->channels; k += vectors * LANES) {
            ptrdiff_t w = k / LANES * b->panel;

            if (vectors > 1)
                multiply_2x2(b, at * b->step, w, depth, &ahead, sum);
            else
                multiply_4x1(b, at * b->step, w, depth, &ahead, sum);
            store_block(b, sum, at, k, vectors);
        }
    }
}

#define BAND(depth, vectors)                                                             \
    ISA static void run_##depth##_##vectors(const struct band *b, bool exact)            \
    {                                                                                    \
        run_band(b, exact, depth, vectors);                                              \
    }
BAND(16, 1)
BAND(16, 2)
BAND(32, 1)
BAND(32, 2)

typedef void band_fn(const struct band *b, bool exact);

static int vectors_of(int channels)
{
    return channels % (2 * LANES) ? 1 : 2;
}

static int block_of(int channels)
{
    return 4 * LANES / vectors_of(channels);
}

/* ---- a window over images ---- */

struct window_job {
    const struct device *dev;
    const struct amx_window *v;
    const struct conv_args *a;
    int n;                            /* images */
    int channels;                     /* of the result */
    ptrdiff_t image, row, col, first; /* pixels of the result */
    size_t scratch;                   /* bytes of a thread's */
    band_fn *run;
};

/* Whether all images are one: each result reads the pixel in its own place. */
static bool pointwise(const struct amx_window *v)
{
    return v->plain && v->joined && !v->reach && !v->top && v->rows == v->h;
}

/* Whether the source is read where it lies: its rows are long enough for blocks. */
static bool in_place(const struct amx_window *v, int n, int threads, int channels)
{
    int rows = pointwise(v) ? n * v->h / threads : 1;

    return v->plain && (int64_t)rows * v->cols >= block_of(channels);
}

static const uint16_t *image_at(const struct window_job *j, int64_t i)
{
    return (const uint16_t *)j->a->from + i * j->v->h * j->v->w * j->v->c;
}

static void begin_band(struct band *b, const struct window_job *j, int64_t image, int y,
                       int rows)
{
    const struct amx_window *v = j->v;
    ptrdiff_t at = (image * j->image + y * j->row + j->first) * j->channels;

    *b = (struct band){
        .depth = depth_of(v->channels),
        .steps = v->channels / depth_of(v->channels),
        .step = amx_window_step(v),
        .panel = (ptrdiff_t)v->packed * v->channels * LANES,
        .y = (uint16_t *)j->a->to + at,
        .mask = j->a->mask ? (const uint16_t *)j->a->mask + at : NULL,
        .bias = j->a->bias,
        .relu = j->a->relu,
        .channels = j->channels,
        .pitch = v->pitch,
        .cols = v->cols,
        .rows = rows,
        .col = j->col * j->channels,
        .row = j->row * j->channels,
    };
}

static void add_tap(struct band *b, const struct window_job *j, const struct amx_tap *t,
                    const uint16_t *x)
{
    b->x[b->taps] = x;
    b->w[b->taps++] =
        (const uint16_t *)j->a->packed + (ptrdiff_t)t->index * j->v->channels * LANES;
}

/* Rows [y, y + rows) by a copy of what they read. */
static void run_copied(const struct window_job *j, int64_t image, int y, int rows,
                       uint16_t *copy)
{
    const struct amx_window *v = j->v;
    struct band b;

    begin_band(&b, j, image, y, rows);
    if (v->taps)
        amx_window_copy(v, image_at(j, image), y, rows, copy);
    for (int t = 0; t < v->taps; t++)
        add_tap(&b, j, &v->tap[t], copy + amx_window_tap(v, &v->tap[t], rows));
    if (y + rows < v->rows) { /* the next band, as far as it is not what this one reads */
        b.next = image_at(j, image) +
                 (ptrdiff_t)((y + rows) * v->step_h + v->top + v->reach) * v->w * v->c;
        b.next_len = (ptrdiff_t)rows * v->step_h * v->w * v->c;
    }
    j->run(&b, false);
}

/* Rows [y, y + rows) where the source lies; the same taps are inside for all of them. */
static void run_in_place(const struct window_job *j, int64_t image, int y, int rows)
{
    const struct amx_window *v = j->v;
    const uint16_t *x = image_at(j, image) + (ptrdiff_t)y * v->w * v->c;
    struct band b;

    begin_band(&b, j, image, y, rows);
    for (int t = 0; t < v->taps; t++)
        if (pointwise(v) || (y + v->tap[t].y >= 0 && y + v->tap[t].y < v->h))
            add_tap(&b, j, &v->tap[t], x + (ptrdiff_t)v->tap[t].y * v->w * v->c);
    for (int t = 0; t < b.taps; t++) /* the next block, of the tap that comes last */
        if (!t || b.x[t] > b.next)
            b.next = b.x[t];
    b.next += b.taps ? block_of(j->channels) * b.step : 0;
    b.next_len = (ptrdiff_t)rows * v->w * v->c;
    j->run(&b, true);
}

/* How many of `rows` rows from y on find the same taps inside of the image. */
static int same_taps(const struct amx_window *v, int y, int rows)
{
    for (int t = 0; t < v->taps; t++) {
        int from = y + v->tap[t].y, left = rows;

        if (from < 0)
            left = -from;
        else if (from < v->h)
            left = v->h - from;
        if (left < rows)
            rows = left;
    }
    return rows;
}

static void window_thread(void *arg, int thread)
{
    const struct window_job *j = arg;
    const struct amx_window *v = j->v;
    bool place = in_place(v, j->n, j->dev->threads, j->channels);
    uint16_t *copy = (uint16_t *)((char *)j->a->scratch + (size_t)thread * j->scratch);
    int band = amx_window_band(v, COPY);
    int64_t lo, hi;

    cpu_part((int64_t)j->n * v->rows, 1, thread, j->dev->threads, &lo, &hi);
    if (place && pointwise(v)) {
        if (lo < hi)
            run_in_place(j, 0, (int)lo, (int)(hi - lo));
        return;
    }
    while (lo < hi) {
        int64_t image = lo / v->rows;
        int y = (int)(lo % v->rows), rows = v->rows - y;

        if (rows > hi - lo)
            rows = (int)(hi - lo);
        if (place) {
            rows = same_taps(v, y, rows);
            run_in_place(j, image, y, rows);
        } else {
            if (rows > band)
                rows = band;
            run_copied(j, image, y, rows, copy);
        }
        lo += rows;
    }
}

ISA static void window_thread_tiles(void *arg, int thread)
{
    const struct window_job *j = arg;

    tiles_begin(depth_of(j->v->channels));
    window_thread(arg, thread);
    tiles_end();
}

static size_t window_scratch(const struct amx_window *v, int n, int threads, int channels)
{
    if (in_place(v, n, threads, channels) || !v->taps)
        return 0;
    return align64(amx_window_copied(v, amx_window_band(v, COPY)) * sizeof(uint16_t));
}

/* j: with everything but what follows from the window */
static void run_window(struct window_job *j)
{
    static band_fn *const run[2][2] = {{run_16_1, run_16_2}, {run_32_1, run_32_2}};
    const struct amx_window *v = j->v;
    j->scratch = window_scratch(v, j->n, j->dev->threads, j->channels);
    j->run = run[depth_of(v->channels) == DEPTH][vectors_of(j->channels) - 1];
    cpu_parallel(j->dev, window_thread_tiles, j);
}

static void amx_forward(const struct device *dev, const struct conv_shape *s,
                        const struct conv_args *a)
{
    struct amx_window v = amx_window_forward(s);
    struct window_job j = {
        .dev = dev,
        .v = &v,
        .a = a,
        .n = s->n,
        .channels = s->k,
        .image = (ptrdiff_t)s->ho * s->wo,
        .row = s->wo,
        .col = 1,
    };

    run_window(&j);
}

static void amx_data_grad(const struct device *dev, const struct conv_shape *s,
                          const struct conv_args *a)
{
    for (int py = 0; py < s->stride_h && py < s->h; py++)
        for (int px = 0; px < s->stride_w && px < s->w; px++) {
            struct amx_window v = amx_window_data_grad(s, py, px);
            struct window_job j = {
                .dev = dev,
                .v = &v,
                .a = a,
                .n = s->n,
                .channels = s->c,
                .image = (ptrdiff_t)s->h * s->w,
                .row = (ptrdiff_t)s->stride_h * s->w,
                .col = s->stride_w,
                .first = (ptrdiff_t)py * s->w + px,
            };

            run_window(&j);
        }
}

static size_t amx_forward_scratch(const struct conv_shape *s, int threads)
{
    struct amx_window v = amx_window_forward(s);

    return window_scratch(&v, s->n, threads, s->k) * (size_t)threads;
}

static size_t amx_data_grad_scratch(const struct conv_shape *s, int threads)
{
    size_t most = 0;

    for (int py = 0; py < s->stride_h && py < s->h; py++)
        for (int px = 0; px < s->stride_w && px < s->w; px++) {
            struct amx_window v = amx_window_data_grad(s, py, px);
            size_t bytes = window_scratch(&v, s->n, threads, s->c);

            if (bytes > most)
                most = bytes;
        }
    return most * (size_t)threads;
}

const struct conv_loops conv_amx = {
    .forward_can = amx_can,
    .data_grad_can = amx_data_grad_can,
    .weight_grad_can = amx_can,
    .data_grad_bias = true,
    .packed = amx_packed,
    .pack = amx_pack,
    .forward_scratch = amx_forward_scratch,
    .data_grad_scratch = amx_data_grad_scratch,
    .weight_grad_scratch = amx_weight_grad_scratch,
    .forward = amx_forward,
    .data_grad = amx_data_grad,
    .weight_grad = amx_weight_grad,
};
