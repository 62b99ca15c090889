/* Forward and data gradient of depthwise convolutions, and their weights. */
#include "cpu/conv/depthwise.h"

#include <string.h>

#include "base/half.h"

static const char *type_can(const struct conv_shape *s)
{
    if (s->type != DTYPE_F32 && s->type != DTYPE_BF16)
        return "fp32 and bf16 only";
    return s->kernel_h * s->kernel_w > CONV_TAPS ? "too many taps" : NULL;
}

/* forward and data gradient */
static const char *rows_can(const struct device *dev, const struct conv_shape *s)
{
    (void)dev;
    return s->stride_h * s->stride_w > 1 ? "stride 1 only" : type_can(s);
}

/* Measured on processors with AMX; without, they were slower on the whole. */
static const char *rows_slower(const struct device *dev, const struct conv_shape *s)
{
    if (s->dilation_h * s->dilation_w > 1)
        return NULL;
    return dev->amx && s->type == DTYPE_BF16 && s->kernel_h * s->kernel_w > 9
               ? NULL
               : "oneDNN is faster without dilation in fp32, for 3 x 3, and without AMX";
}

static const char *weight_grad_can(const struct device *dev, const struct conv_shape *s)
{
    (void)dev;
    return type_can(s);
}

static const char *weight_grad_slower(const struct device *dev,
                                      const struct conv_shape *s)
{
    (void)dev;
    return s->kernel_h == 3 && s->kernel_w == 3 && s->dilation_h * s->dilation_w == 1
               ? "oneDNN is faster for 3 x 3"
               : NULL;
}

/* ---- weights: [block of channels][tap][2 LANES], in the order of loops_place() ---- */

static size_t depthwise_packed(const struct conv_shape *s)
{
    return (size_t)(s->kernel_h * s->kernel_w) * (size_t)depthwise_table(s->c) *
           sizeof(float);
}

static void depthwise_pack(const struct device *dev, const struct conv_shape *s,
                           void *packed, const float *w, bool backward)
{
    int taps = s->kernel_h * s->kernel_w, block = 2 * dev->loops->lanes;
    float *dst = packed;

    (void)backward;
    memset(dst, 0, depthwise_packed(s));
    for (int64_t c = 0; c < s->c; c++) {
        int64_t place = loops_place(s->type, dev->loops->lanes, c);

        place += place / block * block * (taps - 1);
        for (int t = 0; t < taps; t++)
            dst[place + (ptrdiff_t)t * block] =
                s->type == DTYPE_BF16 ? bf16_to_float(bf16_from_float(w[c * taps + t]))
                                      : w[c * taps + t];
    }
}

/* ---- forward and data gradient ---- */

struct rows_job {
    const struct device *dev;
    const struct conv_args *a;
    struct conv_window window;
    struct depthwise_rows src;
    float *bias; /* of a block, in the order of loops_place() */
};

static struct rows_job job_of(const struct device *dev, const struct conv_shape *s,
                              bool backward)
{
    struct rows_job j = {.dev = dev,
                         .window = backward ? conv_window_data_grad(s, 0, 0)
                                            : conv_window_forward(s, 1)};

    j.src = depthwise_rows(dev, s, backward, s->kernel_h);
    depthwise_sides(&j.src, &j.window);
    return j;
}

static void run_row(struct rows_job *j, int64_t image, int row, int channel)
{
    const struct conv_window *v = &j->window;
    int block = 2 * j->dev->loops->lanes;
    const float *w = (const float *)j->a->packed + (ptrdiff_t)channel * v->taps;
    const float *x = NULL;
    int64_t pos = (image * v->image + row * v->row) * v->c + channel;
    enum dtype t = j->src.t;
    struct depthwise_tap tap[CONV_TAPS];
    struct depthwise_row r = {
        .t = t,
        .cols = v->cols,
        .c = min_int(v->c - channel, block),
        .tap = tap,
        .bias = j->a->bias ? j->bias : NULL,
        .act = j->a->act,
        .y = cpu_out(j->a->dst, t, pos),
        .relu_mask = cpu_at(j->a->relu_mask, t, pos),
        .y_next = v->c,
    };

    for (int i = 0, last = -1; i < v->taps; i++) {
        int y = row + v->tap[i].y;

        if (y < 0 || y >= v->h)
            continue;
        if (y != last)
            x = depthwise_ring_row(&j->src, y);
        last = y;
        tap[r.taps++] = (struct depthwise_tap){x + (ptrdiff_t)v->tap[i].x * block,
                                               w + (ptrdiff_t)v->tap[i].index * block};
    }
    j->dev->loops->conv.depthwise_row(&r);
}

static void run_part(void *arg, int64_t image, int row, int end, int channel)
{
    struct rows_job *j = arg;
    int lanes = j->dev->loops->lanes, c = min_int(j->window.c - channel, 2 * lanes);

    for (int i = 0; j->a->bias && i < c; i++)
        j->bias[loops_place(j->src.t, lanes, i)] = j->a->bias[channel + i];
    depthwise_ring_start(&j->src, image, channel);
    for (; row < end; row++)
        run_row(j, image, row, channel);
}

/* Returns the floats of a thread: the ring, and the bias of a block. */
static size_t thread_floats(const struct rows_job *j)
{
    return depthwise_ring_floats(&j->src) + (size_t)depthwise_table(1);
}

static void rows_thread(void *arg, int thread)
{
    struct rows_job j = *(const struct rows_job *)arg;
    float *scratch = (float *)j.a->scratch + (size_t)thread * thread_floats(&j);

    j.bias = scratch + depthwise_ring_floats(&j.src);
    memset(j.bias, 0, (size_t)depthwise_table(1) * sizeof(float));
    depthwise_ring_clear(&j.src, scratch);
    depthwise_parts(&j.src, j.window.rows, thread, run_part, &j);
}

static void run_rows(const struct device *dev, const struct conv_shape *s,
                     const struct conv_args *a, bool backward)
{
    struct rows_job j = job_of(dev, s, backward);

    j.a = a;
    j.src.x = a->src;
    cpu_parallel(dev, rows_thread, &j);
}

static size_t forward_scratch(const struct conv_shape *s, int threads)
{
    struct rows_job j = job_of(NULL, s, false);

    return (size_t)threads * thread_floats(&j) * sizeof(float);
}

static size_t data_grad_scratch(const struct conv_shape *s, int threads)
{
    struct rows_job j = job_of(NULL, s, true);

    return (size_t)threads * thread_floats(&j) * sizeof(float);
}

static void forward(const struct device *dev, const struct conv_shape *s,
                    const struct conv_args *a)
{
    run_rows(dev, s, a, false);
}

static void data_grad(const struct device *dev, const struct conv_shape *s,
                      const struct conv_args *a)
{
    run_rows(dev, s, a, true);
}

const struct conv_loops conv_depthwise = {
    .name = "depthwise",
    .forward_can = rows_can,
    .data_grad_can = rows_can,
    .slower = rows_slower,
    .weight_grad_slower = weight_grad_slower,
    .weight_grad_can = weight_grad_can,
    .depthwise = true,
    .chains = CONV_CHAINS_FOLD,
    .packed = depthwise_packed,
    .pack = depthwise_pack,
    .forward_scratch = forward_scratch,
    .data_grad_scratch = data_grad_scratch,
    .weight_grad_scratch = depthwise_weight_grad_scratch,
    .forward = forward,
    .data_grad = data_grad,
    .weight_grad = depthwise_weight_grad,
};
