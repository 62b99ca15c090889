/* The data gradient of depthwise convolutions, and its weights. */
#include "cpu/conv/depthwise.h"

#include <string.h>

#include "base/half.h"

static const char *type_can(const struct conv_shape *s)
{
    if (s->type != DTYPE_F32 && s->type != DTYPE_BF16)
        return "fp32 and bf16 only";
    return s->kernel_h * s->kernel_w > CONV_TAPS ? "too many taps" : NULL;
}

static const char *data_grad_can(const struct device *dev, const struct conv_shape *s)
{
    (void)dev;
    if (s->stride_h * s->stride_w > 1)
        return "stride 1 only";
    if (s->dilation_h * s->dilation_w == 1)
        return "oneDNN is faster without dilation";
    return type_can(s);
}

static const char *weight_grad_can(const struct device *dev, const struct conv_shape *s)
{
    (void)dev;
    if (s->kernel_h == 3 && s->kernel_w == 3 && s->dilation_h * s->dilation_w == 1)
        return "oneDNN is faster for 3 x 3";
    return type_can(s);
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

/* ---- data gradient ---- */

struct grad_job {
    const struct device *dev;
    const struct conv_args *a;
    struct conv_window window;
    struct depthwise_rows dy;
};

static struct grad_job job_of(const struct device *dev, const struct conv_shape *s)
{
    struct grad_job j = {.dev = dev, .window = conv_window_data_grad(s, 0, 0)};

    j.dy = depthwise_rows(dev, s, true, s->kernel_h);
    depthwise_sides(&j.dy, &j.window);
    return j;
}

static void run_row(struct grad_job *j, int64_t image, int row, int channel)
{
    const struct conv_window *v = &j->window;
    int block = 2 * j->dev->loops->lanes;
    const float *w = (const float *)j->a->packed + (ptrdiff_t)channel * v->taps;
    const float *x = NULL;
    int64_t pos = (image * v->image + row * v->row) * v->c + channel;
    enum dtype t = j->dy.t;
    struct depthwise_tap tap[CONV_TAPS];
    struct depthwise_row r = {
        .t = t,
        .cols = v->cols,
        .c = min_int(v->c - channel, block),
        .tap = tap,
        .y = cpu_out(j->a->dst, t, pos),
        .relu_mask = cpu_at(j->a->relu_mask, t, pos),
        .y_next = v->c,
    };

    for (int i = 0, last = -1; i < v->taps; i++) {
        int y = row + v->tap[i].y;

        if (y < 0 || y >= v->h)
            continue;
        if (y != last)
            x = depthwise_ring_row(&j->dy, y);
        last = y;
        tap[r.taps++] = (struct depthwise_tap){x + (ptrdiff_t)v->tap[i].x * block,
                                               w + (ptrdiff_t)v->tap[i].index * block};
    }
    j->dev->loops->conv.depthwise_row(&r);
}

static void run_part(void *arg, int64_t image, int row, int end, int channel)
{
    struct grad_job *j = arg;

    depthwise_ring_start(&j->dy, image, channel);
    for (; row < end; row++)
        run_row(j, image, row, channel);
}

static void grad_thread(void *arg, int thread)
{
    struct grad_job j = *(const struct grad_job *)arg;

    depthwise_ring_clear(&j.dy, (float *)j.a->scratch +
                                    (size_t)thread * depthwise_ring_floats(&j.dy));
    depthwise_parts(&j.dy, j.window.rows, thread, run_part, &j);
}

static size_t data_grad_scratch(const struct conv_shape *s, int threads)
{
    struct grad_job j = job_of(NULL, s);

    return (size_t)threads * depthwise_ring_floats(&j.dy) * sizeof(float);
}

static void data_grad(const struct device *dev, const struct conv_shape *s,
                      const struct conv_args *a)
{
    struct grad_job j = job_of(dev, s);

    j.a = a;
    j.dy.x = a->src;
    cpu_parallel(dev, grad_thread, &j);
}

const struct conv_loops conv_depthwise = {
    .name = "depthwise",
    .data_grad_can = data_grad_can,
    .weight_grad_can = weight_grad_can,
    .depthwise = true,
    .packed = depthwise_packed,
    .pack = depthwise_pack,
    .data_grad_scratch = data_grad_scratch,
    .weight_grad_scratch = depthwise_weight_grad_scratch,
    .data_grad = data_grad,
    .weight_grad = depthwise_weight_grad,
};
