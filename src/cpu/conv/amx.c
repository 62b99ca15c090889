/* Forward and data gradient: windows over images, in bands of rows. */
#include "cpu/conv/amx.h"

#include "cpu/conv/amx_band.h"
#include "cpu/conv/amx_tiles.h"
#include "cpu/conv/amx_window.h"

/* Bytes that should stay in a core's cache: a copy of rows, and weights. */
enum { COPY = 384 << 10, WEIGHTS = 1 << 20 };

/* forward and weight gradient */
static const char *amx_can(const struct device *dev, const struct conv_shape *s)
{
    if (!dev->amx)
        return "no AMX";
    if (s->type != DTYPE_BF16)
        return "bf16 only";
    if (s->k / conv_groups(s) % LANES)
        return "multiples of 16 channels only";
    if (s->c / conv_groups(s) % LANES &&
        (conv_groups(s) > 1 || s->c > LANES || s->dilation_w > 1))
        return "less than 16 channels, or multiples of 16, only";
    if (amx_reach(s).taps > CONV_TAPS)
        return "too many taps";
    return NULL;
}

static const char *amx_slower(const struct device *dev, const struct conv_shape *s)
{
    return s->linear && s->h < 2 * LANES * dev->threads
               ? "too few rows for the threads; oneDNN also shares the columns"
               : NULL;
}

static const char *amx_data_grad_can(const struct device *dev, const struct conv_shape *s)
{
    return s->c % LANES ? "multiples of 16 channels only" : amx_can(dev, s);
}

static const char *amx_weight_grad_can(const struct device *dev,
                                       const struct conv_shape *s)
{
    return conv_groups(s) > 1 ? "without groups only" : amx_can(dev, s);
}

/* Returns the channels of the result that read the same channels of the source. */
static int group_width(const struct amx_window *v)
{
    return v->conv.channels / v->groups;
}

struct window_job {
    const struct device *dev;
    const struct amx_window *v;
    const struct conv_args *a;
    int group;      /* channels of the result per pass */
    size_t scratch; /* bytes per thread */
};

/* True if the source is read in place: its rows are long enough for blocks. */
static bool in_place(const struct amx_window *v, int threads)
{
    int rows = amx_window_pointwise(v) ? v->conv.n * v->conv.h / threads : 1;

    return v->plain && (int64_t)rows * v->conv.cols >= amx_block(group_width(v));
}

static const uint16_t *image_at(const struct window_job *j, int64_t i)
{
    return (const uint16_t *)j->a->src + i * j->v->conv.h * j->v->conv.w * j->v->conv.c;
}

static void begin_band(struct amx_band *b, const struct window_job *j, int begin,
                       int64_t image, int y, int rows)
{
    const struct amx_window *v = j->v;
    ptrdiff_t pos =
        (image * v->conv.image + y * v->conv.row + v->conv.first) * v->conv.channels;

    *b = (struct amx_band){
        .depth = depth_of(v->reads),
        .steps = v->reads / depth_of(v->reads),
        .group = group_width(v),
        .group_step = v->reads,
        .step = amx_window_step(v),
        .panel = (ptrdiff_t)v->packed * v->reads * LANES,
        .y = (uint16_t *)j->a->dst + pos,
        .relu_mask = j->a->relu_mask ? (const uint16_t *)j->a->relu_mask + pos : NULL,
        .add = j->a->add ? (const uint16_t *)j->a->add + pos : NULL,
        .bias = j->a->bias,
        .act = j->a->act,
        .loops = j->dev->loops,
        .channels = v->conv.channels,
        .pitch = v->pitch,
        .cols = v->conv.cols,
        .rows = rows,
        .begin = begin,
        .end = min_int(begin + j->group, v->conv.channels),
        .col = v->conv.col * v->conv.channels,
        .row = v->conv.row * v->conv.channels,
    };
}

static void add_tap(struct amx_band *b, const struct window_job *j,
                    const struct conv_tap *t, const uint16_t *x)
{
    b->x[b->taps] = x;
    b->w[b->taps++] =
        (const uint16_t *)j->a->packed + (ptrdiff_t)t->index * j->v->reads * LANES;
}

/* Computes rows [y, y + rows) from a copy of the rows that they read. */
static void run_copied(const struct window_job *j, int begin, int64_t image, int y,
                       int rows, uint16_t *copy)
{
    const struct amx_window *v = j->v;
    struct amx_band b;

    begin_band(&b, j, begin, image, y, rows);
    if (v->conv.taps)
        amx_window_copy(v, image_at(j, image), y, rows, copy);
    for (int t = 0; t < v->conv.taps; t++)
        add_tap(&b, j, &v->conv.tap[t], copy + amx_window_tap(v, &v->conv.tap[t], rows));
    if (y + rows < v->conv.rows) {
        /* prefetch what the next band reads and this one does not */
        b.next = image_at(j, image) +
                 (ptrdiff_t)((y + rows) * v->conv.step_h + v->top + v->reach) *
                     v->conv.w * v->conv.c;
        b.next_len = (ptrdiff_t)rows * v->conv.step_h * v->conv.w * v->conv.c;
    }
    amx_run_band(&b, false);
}

/* Computes rows [y, y + rows) with the source in place; all have the same taps inside. */
static void run_in_place(const struct window_job *j, int begin, int64_t image, int y,
                         int rows)
{
    const struct amx_window *v = j->v;
    const uint16_t *x = image_at(j, image) + (ptrdiff_t)y * v->conv.w * v->conv.c;
    struct amx_band b;

    begin_band(&b, j, begin, image, y, rows);
    if (amx_window_pointwise(v) && b.row == b.pitch * b.col) { /* one long row */
        b.pitch = b.cols = rows * b.pitch;
        b.rows = 1;
    }
    for (int t = 0; t < v->conv.taps; t++)
        if (amx_window_pointwise(v) ||
            (y + v->conv.tap[t].y >= 0 && y + v->conv.tap[t].y < v->conv.h))
            add_tap(&b, j, &v->conv.tap[t],
                    x + (ptrdiff_t)v->conv.tap[t].y * v->conv.w * v->conv.c);
    for (int t = 0; t < b.taps; t++) /* prefetch the last tap of the next block */
        if (!t || b.x[t] > b.next)
            b.next = b.x[t];
    b.next += b.taps ? amx_block(group_width(v)) * b.step : 0;
    b.next_len = (ptrdiff_t)rows * v->conv.w * v->conv.c;
    amx_run_band(&b, true);
}

/* Returns how many of `rows` rows from y on have the same taps inside the image. */
static int same_taps(const struct amx_window *v, int y, int rows)
{
    for (int t = 0; t < v->conv.taps; t++) {
        int start = y + v->conv.tap[t].y, left = rows;

        if (start < 0)
            left = -start;
        else if (start < v->conv.h)
            left = v->conv.h - start;
        if (left < rows)
            rows = left;
    }
    return rows;
}

/* Computes rows [lo, hi) of all images, for the channels from `begin` on. */
static void run_rows(const struct window_job *j, int begin, int64_t lo, int64_t hi,
                     uint16_t *copy)
{
    const struct amx_window *v = j->v;
    bool place = in_place(v, j->dev->threads);
    int band = amx_window_band(v, COPY);

    if (place && amx_window_pointwise(v)) {
        if (lo < hi)
            run_in_place(j, begin, 0, (int)lo, (int)(hi - lo));
        return;
    }
    while (lo < hi) {
        int64_t image = lo / v->conv.rows;
        int y = (int)(lo % v->conv.rows), rows = v->conv.rows - y;

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

    cpu_part((int64_t)j->v->conv.n * j->v->conv.rows, 1, thread, j->dev->threads, &lo,
             &hi);
    for (int begin = 0; begin < j->v->conv.channels; begin += j->group)
        run_rows(j, begin, lo, hi, copy);
}

ISA static void window_thread_tiles(void *arg, int thread)
{
    const struct window_job *j = arg;

    tiles_begin(depth_of(j->v->reads));
    window_thread(arg, thread);
    tiles_end();
}

static size_t window_scratch(const struct amx_window *v, int threads)
{
    if (in_place(v, threads) || !v->conv.taps)
        return 0;
    return align64(amx_window_copied(v, amx_window_band(v, COPY)) * sizeof(uint16_t));
}

/*
 * Returns the number of channels whose weights stay in the cache for all of a thread's
 * rows; with more, each block of positions would read all weights from memory.
 */
static int group_of(const struct amx_window *v)
{
    int channels = v->conv.channels;
    int unit = group_width(v) % (2 * LANES) ? LANES : 2 * LANES, units = channels / unit;
    size_t bytes =
        (size_t)v->conv.taps * (size_t)v->reads * (size_t)unit * sizeof(uint16_t);
    size_t groups = ((size_t)units * bytes + WEIGHTS - 1) / WEIGHTS;

    if (groups < 2)
        return channels;
    return (units + (int)groups - 1) / (int)groups * unit;
}

static void run_window(const struct device *dev, const struct amx_window *v,
                       const struct conv_args *a)
{
    struct window_job j = {dev, v, a, group_of(v), window_scratch(v, dev->threads)};

    cpu_parallel(dev, window_thread_tiles, &j);
}

static void amx_forward(const struct device *dev, const struct conv_shape *s,
                        const struct conv_args *a)
{
    struct amx_window v = amx_window_forward(s);

    run_window(dev, &v, a);
}

static void amx_data_grad(const struct device *dev, const struct conv_shape *s,
                          const struct conv_args *a)
{
    for (int py = 0; py < s->stride_h && py < s->h; py++)
        for (int px = 0; px < s->stride_w && px < s->w; px++) {
            struct amx_window v = amx_window_data_grad(s, py, px);

            run_window(dev, &v, a);
        }
}

static size_t amx_forward_scratch(const struct conv_shape *s, int threads)
{
    struct amx_window v = amx_window_forward(s);

    return window_scratch(&v, threads) * (size_t)threads;
}

static size_t amx_data_grad_scratch(const struct conv_shape *s, int threads)
{
    size_t max = 0;

    for (int py = 0; py < s->stride_h && py < s->h; py++)
        for (int px = 0; px < s->stride_w && px < s->w; px++) {
            struct amx_window v = amx_window_data_grad(s, py, px);
            size_t bytes = window_scratch(&v, threads);

            if (bytes > max)
                max = bytes;
        }
    return max * (size_t)threads;
}

const struct conv_loops conv_amx = {
    .name = "amx",
    .forward_can = amx_can,
    .data_grad_can = amx_data_grad_can,
    .weight_grad_can = amx_weight_grad_can,
    .slower = amx_slower,
    .weight_grad_slower = amx_slower,
    .grouped = true,
    .linear = true,
    .chains = CONV_CHAINS_RELU,
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
