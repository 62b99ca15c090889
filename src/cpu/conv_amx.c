/* Forward and data gradient: windows over images, in bands of rows. */
#include "cpu/conv_amx.h"

#include "cpu/conv_amx_band.h"
#include "cpu/conv_amx_tiles.h"
#include "cpu/conv_amx_window.h"

/* Bytes that should stay in a core's cache: a copy of rows, and weights. */
enum { COPY = 384 << 10, WEIGHTS = 1 << 20 };

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

struct window_job {
    const struct device *dev;
    const struct amx_window *v;
    const struct conv_args *a;
    int n;                            /* images */
    int channels, group;              /* of the result, and how many at a time */
    ptrdiff_t image, row, col, first; /* pixels of the result */
    size_t scratch;                   /* bytes of a thread's */
};

/* Whether the source is read where it lies: its rows are long enough for blocks. */
static bool in_place(const struct amx_window *v, int n, int threads, int channels)
{
    int rows = amx_window_pointwise(v) ? n * v->h / threads : 1;

    return v->plain && (int64_t)rows * v->cols >= amx_block(channels);
}

static const uint16_t *image_at(const struct window_job *j, int64_t i)
{
    return (const uint16_t *)j->a->from + i * j->v->h * j->v->w * j->v->c;
}

static void begin_band(struct amx_band *b, const struct window_job *j, int begin,
                       int64_t image, int y, int rows)
{
    const struct amx_window *v = j->v;
    ptrdiff_t at = (image * j->image + y * j->row + j->first) * j->channels;

    *b = (struct amx_band){
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
        .begin = begin,
        .end = at_most(begin + j->group, j->channels),
        .col = j->col * j->channels,
        .row = j->row * j->channels,
    };
}

static void add_tap(struct amx_band *b, const struct window_job *j,
                    const struct amx_tap *t, const uint16_t *x)
{
    b->x[b->taps] = x;
    b->w[b->taps++] =
        (const uint16_t *)j->a->packed + (ptrdiff_t)t->index * j->v->channels * LANES;
}

/* Rows [y, y + rows) by a copy of what they read. */
static void run_copied(const struct window_job *j, int begin, int64_t image, int y,
                       int rows, uint16_t *copy)
{
    const struct amx_window *v = j->v;
    struct amx_band b;

    begin_band(&b, j, begin, image, y, rows);
    if (v->taps)
        amx_window_copy(v, image_at(j, image), y, rows, copy);
    for (int t = 0; t < v->taps; t++)
        add_tap(&b, j, &v->tap[t], copy + amx_window_tap(v, &v->tap[t], rows));
    if (y + rows < v->rows) { /* the next band, as far as it is not what this one reads */
        b.next = image_at(j, image) +
                 (ptrdiff_t)((y + rows) * v->step_h + v->top + v->reach) * v->w * v->c;
        b.next_len = (ptrdiff_t)rows * v->step_h * v->w * v->c;
    }
    amx_run_band(&b, false);
}

/* Rows [y, y + rows) where the source lies; the same taps are inside for all of them. */
static void run_in_place(const struct window_job *j, int begin, int64_t image, int y,
                         int rows)
{
    const struct amx_window *v = j->v;
    const uint16_t *x = image_at(j, image) + (ptrdiff_t)y * v->w * v->c;
    struct amx_band b;

    begin_band(&b, j, begin, image, y, rows);
    for (int t = 0; t < v->taps; t++)
        if (amx_window_pointwise(v) || (y + v->tap[t].y >= 0 && y + v->tap[t].y < v->h))
            add_tap(&b, j, &v->tap[t], x + (ptrdiff_t)v->tap[t].y * v->w * v->c);
    for (int t = 0; t < b.taps; t++) /* the next block, of the tap that comes last */
        if (!t || b.x[t] > b.next)
            b.next = b.x[t];
    b.next += b.taps ? amx_block(j->channels) * b.step : 0;
    b.next_len = (ptrdiff_t)rows * v->w * v->c;
    amx_run_band(&b, true);
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

/* Rows [lo, hi) of all images, of the channels from `begin` on. */
static void run_rows(const struct window_job *j, int begin, int64_t lo, int64_t hi,
                     uint16_t *copy)
{
    const struct amx_window *v = j->v;
    bool place = in_place(v, j->n, j->dev->threads, j->channels);
    int band = amx_window_band(v, COPY);

    if (place && amx_window_pointwise(v)) {
        if (lo < hi)
            run_in_place(j, begin, 0, (int)lo, (int)(hi - lo));
        return;
    }
    while (lo < hi) {
        int64_t image = lo / v->rows;
        int y = (int)(lo % v->rows), rows = v->rows - y;

        if (rows > hi - lo)
            rows = (int)(hi - lo);
        if (place) {
            rows = same_taps(v, y, rows);
            run_in_place(j, begin, image, y, rows);
        } else {
            if (rows > band)
                rows = band;
            run_copied(j, begin, image, y, rows, copy);
        }
        lo += rows;
    }
}

static void window_thread(void *arg, int thread)
{
    const struct window_job *j = arg;
    uint16_t *copy = (uint16_t *)((char *)j->a->scratch + (size_t)thread * j->scratch);
    int64_t lo, hi;

    cpu_part((int64_t)j->n * j->v->rows, 1, thread, j->dev->threads, &lo, &hi);
    for (int begin = 0; begin < j->channels; begin += j->group)
        run_rows(j, begin, lo, hi, copy);
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

/*
 * Channels whose weights stay near while all of a thread's rows go by; otherwise each
 * block of positions would read all weights from memory.
 */
static int group_of(const struct amx_window *v, int channels)
{
    int unit = channels % (2 * LANES) ? LANES : 2 * LANES, units = channels / unit;
    size_t bytes =
        (size_t)v->taps * (size_t)v->channels * (size_t)unit * sizeof(uint16_t);
    size_t groups = ((size_t)units * bytes + WEIGHTS - 1) / WEIGHTS;

    if (groups < 2)
        return channels;
    return (units + (int)groups - 1) / (int)groups * unit;
}

/* j: with everything but what follows from the window */
static void run_window(struct window_job *j)
{
    const struct amx_window *v = j->v;

    j->group = group_of(v, j->channels);
    j->scratch = window_scratch(v, j->n, j->dev->threads, j->channels);
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
