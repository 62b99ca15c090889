/* Forward and data gradient as windows over images, and their weights. */
#include "cpu/conv/gemm.h"

#include <string.h>

enum {
    UNIT = GEMM_RIGHT, /* channels that the loops process at a time */
    PANEL = GEMM_PANEL,
    ROWS = 10 * GEMM_ROWS, /* largest number of results at a time */
    WIDENED_DEPTH = 8192,  /* most columns of rows that are widened to fp32 */
    COPIED = 3 << 17,      /* most floats of a thread's copies: fits a cache of level 2 */
};

static const char *shape_can(const struct device *dev, const struct conv_shape *s)
{
    if (dev->loops->lanes < 8)
        return "no AVX2";
    if (s->c % UNIT || s->k % UNIT || s->c < 2 * UNIT || s->k < 2 * UNIT)
        return "multiples of 16 channels from 32 on only";
    if (s->kernel_h * s->kernel_w > 1 && s->stride_h * s->stride_w == 1 &&
        gemm_words_of(s) != GEMM_WIDENED)
        return "1 x 1, or with a stride, only";
    if (s->kernel_h * s->kernel_w > CONV_TAPS)
        return "too many taps";
    return NULL;
}

/* Pairs of bf16 are read as 32-bit words, each with two channels of a row. */
static const char *pairs_can(const struct device *dev, const struct conv_shape *s)
{
    if (!dev->loops->conv.gemm_pairs)
        return "pairs of bf16 only with AVX-512 BF16";
    if (s->kernel_h * s->kernel_w > 1)
        return "in bf16 1 x 1 only";
    return s->c % (2 * UNIT) || s->k % (2 * UNIT) ? "multiples of 32 channels only"
                                                  : NULL;
}

/* A thread's copies of widened rows must fit its caches. */
static const char *widened_can(const struct conv_shape *s)
{
    int64_t taps = (int64_t)s->kernel_h * s->kernel_w;

    return taps * s->c > WIDENED_DEPTH || taps * s->k > WIDENED_DEPTH
               ? "too many columns for bf16 in fp32"
               : NULL;
}

static const char *gemm_can(const struct device *dev, const struct conv_shape *s)
{
    const char *why = shape_can(dev, s);

    if (why || s->type == DTYPE_F32)
        return why;
    if (s->type != DTYPE_BF16)
        return "fp32 and bf16 only";
    return s->widen ? widened_can(s) : pairs_can(dev, s);
}

static const char *gemm_slower(const struct device *dev, const struct conv_shape *s)
{
    if (s->linear && s->h < GEMM_ROWS * dev->threads)
        return "too few rows for the threads; oneDNN also shares the columns";
    if (s->type == DTYPE_F32 || s->widen)
        return NULL;
    if (dev->amx)
        return "oneDNN is faster with tiles of AMX";
    return s->linear ? NULL : "in bf16 oneDNN is as fast";
}

/* The window in words of the source. */
static struct conv_window words_of(const struct conv_shape *s, struct conv_window v)
{
    if (gemm_words_of(s) == GEMM_PAIRS)
        v.c /= 2;
    return v;
}

static const char *weight_grad_can(const struct device *dev, const struct conv_shape *s)
{
    if (s->type != DTYPE_F32 && s->type != DTYPE_BF16)
        return "fp32 and bf16 only";
    if (gemm_words_of(s) == GEMM_PAIRS && !dev->loops->conv.gemm_pairs)
        return "pairs of bf16 only with AVX-512 BF16";
    return shape_can(dev, s);
}

static const char *weight_grad_slower(const struct device *dev,
                                      const struct conv_shape *s)
{
    return s->linear && s->type == DTYPE_BF16 && dev->amx
               ? "oneDNN is faster with tiles of AMX"
               : NULL;
}

/* ---- the im2col matrix ---- */

bool gemm_in_place(const struct conv_window *v)
{
    return v->taps == 1 && v->tap[0].y == 0 && v->tap[0].x == 0 && v->step_h == 1 &&
           v->step_w == 1 && v->rows == v->h && v->cols == v->w;
}

/* Returns what tap t of a result reads, in elements of `size` bytes; NULL if outside. */
static const void *pixel_at(const struct conv_window *v, const void *src, size_t size,
                            const struct conv_place *p, int t)
{
    int y = p->row * v->step_h + v->tap[t].y, x = p->col * v->step_w + v->tap[t].x;

    if (y < 0 || y >= v->h || x < 0 || x >= v->w)
        return NULL;
    return (const char *)src +
           ((p->image * v->h + y) * v->w + x) * v->c * (ptrdiff_t)size;
}

void gemm_gather(const struct device *dev, const struct conv_window *v, const void *src,
                 bool widen, int64_t pos, int n, int lo, int hi, float *dst, int64_t next,
                 int64_t panel)
{
    struct conv_place p = conv_place(v->rows, v->cols, pos);
    size_t size = widen ? sizeof(uint16_t) : sizeof(float);

    for (int i = 0; i < n; i++, conv_place_next(v->rows, v->cols, &p), dst += next)
        for (int d = lo, end; d < hi; d = end) {
            int t = d / v->c;
            const char *pixel = pixel_at(v, src, size, &p, t);
            const void *part = pixel ? pixel + (size_t)(d % v->c) * size : NULL;
            float *words = dst + (d - lo) / UNIT * panel;

            end = min_int((t + 1) * v->c, hi);
            if (widen)
                dev->loops->conv.gemm_widen(part, end - d, UNIT, words, panel);
            else
                dev->loops->conv.gemm_spread(part, end - d, UNIT, words, panel);
        }
}

void gemm_gather_pairs(const struct device *dev, const struct conv_window *v,
                       const uint16_t *src, int64_t pos, int n, int lo, int hi,
                       float *dst, int64_t next, int64_t panel)
{
    struct conv_place p = conv_place(v->rows, v->cols, pos);

    for (int i = 0; i < n; i += 2, conv_place_next(v->rows, v->cols, &p), dst += next) {
        struct conv_place first = p;

        conv_place_next(v->rows, v->cols, &p);
        for (int d = lo, end; d < hi; d = end) {
            int t = d / v->c;
            const uint16_t *a = pixel_at(v, src, sizeof(*src), &first, t);
            const uint16_t *b = i + 1 < n ? pixel_at(v, src, sizeof(*src), &p, t) : NULL;

            end = min_int((t + 1) * v->c, hi);
            dev->loops->conv.gemm_pairs(a ? a + d % v->c : NULL, b ? b + d % v->c : NULL,
                                        end - d, UNIT, dst + (d - lo) / UNIT * panel,
                                        panel);
        }
    }
}

/* ---- weights: of each window, [chunk of columns][channels / 32][column][32] ---- */

/* Returns the columns multiplied at a time, in chunks of about equal size; in bf16 all, as
 * its sums are not stored in between. */
static int chunk_of(const struct conv_window *v, enum gemm_words words)
{
    int depth = gemm_depth(v), chunks = (depth + GEMM_DEPTH - 1) / GEMM_DEPTH;

    if (words != GEMM_FLOATS)
        return depth;
    return chunks ? round_up((depth + chunks - 1) / chunks, UNIT) : UNIT;
}

static size_t window_weights(const struct conv_window *v)
{
    return (size_t)gemm_depth(v) * (size_t)round_up(v->channels, PANEL);
}

static size_t gemm_packed(const struct conv_shape *s)
{
    size_t forward = (size_t)s->c * (size_t)round_up(s->k, PANEL);
    size_t back = (size_t)s->k * (size_t)round_up(s->c, PANEL);

    return (size_t)(s->kernel_h * s->kernel_w) * (forward > back ? forward : back) *
           sizeof(float);
}

struct pack_job {
    const struct device *dev;
    const struct conv_window *v; /* in words */
    const float *w;
    float *packed;
    ptrdiff_t row; /* of w */
    bool backward;
    enum gemm_words words;
};

/* Panels [lo, hi) of 32 channels. */
static void pack_part(void *arg, int64_t lo, int64_t hi)
{
    const struct pack_job *j = arg;
    const struct conv_window *v = j->v;
    int chunk = chunk_of(v, j->words), depth = gemm_depth(v);
    int each = j->words == GEMM_PAIRS ? 2 : 1; /* channels in a word */
    int step = UNIT / each;

    for (int64_t panel = lo; panel < hi; panel++)
        for (int d = 0; d < depth; d += step) {
            int out = (int)panel * PANEL, in = d % v->c * each, begin = d / chunk * chunk;
            ptrdiff_t tap = v->tap[d / v->c].index;
            const float *w = j->backward ? j->w + in * j->row + tap * v->channels + out
                                         : j->w + out * j->row + tap * v->c + in;

            j->dev->loops->conv.gemm_pack(
                w, j->row, UNIT, min_int(v->channels - out, PANEL), !j->backward,
                j->words,
                j->packed + (ptrdiff_t)begin * round_up(v->channels, PANEL) +
                    (panel * min_int(depth - begin, chunk) + d - begin) * PANEL);
        }
}

/* NOLINTBEGIN(readability-non-const-parameter): packed is written through the job */
static void pack_window(const struct device *dev, const struct conv_shape *s,
                        const struct conv_window *v, float *packed, const float *w,
                        bool backward)
/* NOLINTEND(readability-non-const-parameter) */
{
    struct conv_window words = words_of(s, *v);
    ptrdiff_t row = (ptrdiff_t)s->kernel_h * s->kernel_w * s->c;
    struct pack_job j = {dev, &words, w, packed, row, backward, gemm_words_of(s)};

    cpu_for(dev, round_up(v->channels, PANEL) / PANEL, 1, pack_part, &j);
}

static void gemm_pack(const struct device *dev, const struct conv_shape *s, void *packed,
                      const float *w, bool backward)
{
    float *dst = packed;

    if (!backward) {
        struct conv_window v = conv_window_forward(s, 1);

        pack_window(dev, s, &v, dst, w, false);
        return;
    }
    for (int py = 0; py < s->stride_h; py++)
        for (int px = 0; px < s->stride_w; px++) {
            struct conv_window v = conv_window_data_grad(s, py, px);

            pack_window(dev, s, &v, dst, w, true);
            dst += window_weights(&v);
        }
}

/* ---- forward and data gradient ---- */

struct window_job {
    const struct device *dev;
    const struct conv_window *v; /* in words */
    const struct conv_args *a;
    const float *packed; /* of this window */
    enum gemm_words words;
};

/*
 * Rows a multiple of 4 KiB apart map to the same L1 cache set, whose 8 or 12 ways cannot
 * hold a tile's rows and the weights: such rows are copied.
 */
static bool read_in_place(const struct conv_window *v, enum gemm_words words)
{
    return words != GEMM_WIDENED && gemm_in_place(v) &&
           (size_t)v->c * sizeof(float) % 4096;
}

/* Returns the largest number of results at a time. */
static int max_rows(const struct conv_window *v, enum gemm_words words)
{
    int rows = COPIED / odd_lines(chunk_of(v, words)) / GEMM_ROWS * GEMM_ROWS;

    if (read_in_place(v, words) || rows > ROWS)
        return ROWS;
    return rows > 0 ? rows : GEMM_ROWS;
}

static size_t thread_floats(const struct conv_window *v, enum gemm_words words)
{
    return read_in_place(v, words)
               ? 0
               : (size_t)max_rows(v, words) * (size_t)odd_lines(chunk_of(v, words));
}

/* Destinations of results [at, at + n), and the inputs of their epilogue. */
struct gemm_results {
    void *y[ROWS];
    const void *add[ROWS], *relu_mask[ROWS];
};

static void find_results(const struct window_job *j, int64_t pos, int n,
                         struct gemm_results *r)
{
    const struct conv_window *v = j->v;
    struct conv_place p = conv_place(v->rows, v->cols, pos);
    enum dtype t = j->words == GEMM_FLOATS ? DTYPE_F32 : DTYPE_BF16;

    for (int i = 0; i < n; i++, conv_place_next(v->rows, v->cols, &p)) {
        ptrdiff_t out_pos =
            (p.image * v->image + p.row * v->row + p.col * v->col + v->first) *
            v->channels;

        r->y[i] = cpu_out(j->a->dst, t, out_pos);
        r->add[i] = cpu_at(j->a->add, t, out_pos);
        r->relu_mask[i] = cpu_at(j->a->relu_mask, t, out_pos);
    }
}

/* The epilogue of a GEMM that begins the sums, ends them, or both. */
static struct conv_finish finish_of(const struct conv_args *a,
                                    const struct gemm_results *r, bool begins, bool ends)
{
    return (struct conv_finish){
        .bias = ends ? a->bias : NULL,
        .add = begins && a->add ? r->add : NULL, /* y may be the same memory */
        .relu_mask = ends && a->relu_mask ? r->relu_mask : NULL,
        .act = ends ? a->act : (struct loop_activation){0},
    };
}

/* Computes results [at, at + n). */
static void run_rows(const struct window_job *j, int64_t pos, int n, float *copy)
{
    const struct conv_window *v = j->v;
    int depth = gemm_depth(v), chunk = chunk_of(v, j->words);
    bool widen = j->words == GEMM_WIDENED;
    const float *src = j->a->src;
    struct gemm_results r;

    find_results(j, pos, n, &r);
    for (int i = 0; !depth && i < n; i++)
        memset(r.y[i], 0,
               (size_t)v->channels * (j->words == GEMM_FLOATS ? sizeof(float) : 2));
    for (int lo = 0; lo < depth; lo += chunk) {
        int hi = min_int(lo + chunk, depth);
        struct conv_finish finish = finish_of(j->a, &r, lo == 0, hi == depth);
        bool any = finish.bias || finish.add || finish.relu_mask || finish.act.row;
        struct gemm_rows g = {
            .rows = n,
            .cols = v->channels,
            .depth = hi - lo,
            .a_row = odd_lines(hi - lo),
            .b_panel = (int64_t)(hi - lo) * PANEL,
            .a = copy,
            .b = j->packed + (ptrdiff_t)lo * round_up(v->channels, PANEL),
            .y = r.y,
            .add = lo > 0,
            .pairs = j->words == GEMM_PAIRS,
            .half = widen,
            .finish = any ? &finish : NULL,
        };

        if (read_in_place(v, j->words)) {
            g.a = src + pos * v->c + lo;
            g.a_row = v->c;
            g.prefetch[0].start = src + (pos + n) * v->c + (ptrdiff_t)n * lo;
            g.prefetch[0].bytes = (ptrdiff_t)n * (hi - lo) * (ptrdiff_t)sizeof(float);
        } else {
            gemm_gather(j->dev, v, src, widen, pos, n, lo, hi, copy, g.a_row, UNIT);
        }
        j->dev->loops->conv.gemm_rows(&g);
    }
}

static void window_thread(void *arg, int thread)
{
    const struct window_job *j = arg;
    const struct conv_window *v = j->v;
    float *copy = (float *)j->a->scratch + (size_t)thread * thread_floats(v, j->words);
    int64_t lo, hi, blocks;
    int rows, most = max_rows(v, j->words);

    cpu_part((int64_t)v->n * v->rows * v->cols, GEMM_ROWS, thread, j->dev->threads, &lo,
             &hi);
    /* about equal blocks: each reads all weights, however few its rows are */
    blocks = (hi - lo + most - 1) / most;
    rows = blocks ? round_up((int)((hi - lo + blocks - 1) / blocks), GEMM_ROWS) : most;
    for (; lo < hi; lo += rows)
        run_rows(j, lo, min_int(hi - lo, rows), copy);
}

static void run_window(const struct device *dev, const struct conv_shape *s,
                       const struct conv_window *v, const struct conv_args *a,
                       const float *packed)
{
    struct conv_window words = words_of(s, *v);
    struct window_job j = {dev, &words, a, packed, gemm_words_of(s)};

    cpu_parallel(dev, window_thread, &j);
}

static void gemm_forward(const struct device *dev, const struct conv_shape *s,
                         const struct conv_args *a)
{
    struct conv_window v = conv_window_forward(s, 1);

    run_window(dev, s, &v, a, a->packed);
}

static void gemm_data_grad(const struct device *dev, const struct conv_shape *s,
                           const struct conv_args *a)
{
    const float *packed = a->packed;

    for (int py = 0; py < s->stride_h; py++)
        for (int px = 0; px < s->stride_w; px++) {
            struct conv_window v = conv_window_data_grad(s, py, px);

            if (v.rows && v.cols)
                run_window(dev, s, &v, a, packed);
            packed += window_weights(&v);
        }
}

static size_t gemm_forward_scratch(const struct conv_shape *s, int threads)
{
    struct conv_window v = words_of(s, conv_window_forward(s, 1));

    return thread_floats(&v, gemm_words_of(s)) * (size_t)threads * sizeof(float);
}

static size_t gemm_data_grad_scratch(const struct conv_shape *s, int threads)
{
    size_t max = 0;

    for (int py = 0; py < s->stride_h; py++)
        for (int px = 0; px < s->stride_w; px++) {
            struct conv_window v = words_of(s, conv_window_data_grad(s, py, px));
            size_t floats = thread_floats(&v, gemm_words_of(s));

            max = floats > max ? floats : max;
        }
    return max * (size_t)threads * sizeof(float);
}

const struct conv_loops conv_gemm = {
    .name = "gemm",
    .forward_can = gemm_can,
    .data_grad_can = gemm_can,
    .weight_grad_can = weight_grad_can,
    .slower = gemm_slower,
    .weight_grad_slower = weight_grad_slower,
    .linear = true,
    .no_db = true,
    .chains = CONV_CHAINS_ALL,
    .packed = gemm_packed,
    .pack = gemm_pack,
    .forward_scratch = gemm_forward_scratch,
    .data_grad_scratch = gemm_data_grad_scratch,
    .weight_grad_scratch = gemm_weight_grad_scratch,
    .forward = gemm_forward,
    .data_grad = gemm_data_grad,
    .weight_grad = gemm_weight_grad,
};
