/*
 * Pooling. Max pooling ignores the border (NEG_INF_PAD) or treats it as zeros; its index
 * is that of the first maximum in the window, row by row. The average divides by the size
 * of the window or by the number of its pixels within the image.
 */
#include <math.h>
#include <string.h>

#include "tests/emulator/cudnn/run.h"

struct window {
    const struct op *op;
    int64_t h, w, c, oh, ow;
};

static int64_t row(const struct window *p, int64_t o, int64_t tap)
{
    return o * p->op->stride[0] - p->op->pre[0] + tap;
}

static int64_t column(const struct window *p, int64_t o, int64_t tap)
{
    return o * p->op->stride[1] - p->op->pre[1] + tap;
}

static bool inside(const struct window *p, int64_t ih, int64_t iw)
{
    return ih >= 0 && ih < p->h && iw >= 0 && iw < p->w;
}

/* Returns the maximum of one window; *index is -1 for the border. x is at channel c of
 * the image. */
static double largest(const struct window *p, const float *x, int64_t oh, int64_t ow,
                      int64_t *index)
{
    double best = 0;
    bool any = false;

    *index = -1;
    for (int64_t i = 0; i < p->op->window[0] * p->op->window[1]; i++) {
        int64_t ih = row(p, oh, i / p->op->window[1]);
        int64_t iw = column(p, ow, i % p->op->window[1]);
        bool in_image = inside(p, ih, iw);
        double v;

        if (!in_image && p->op->phase == CUDNN_NEG_INF_PAD)
            continue;
        v = in_image ? (double)x[(ih * p->w + iw) * p->c] : 0;
        if (!any || v > best || (isnan(v) && !isnan(best))) {
            best = v;
            *index = i;
        }
        any = true;
    }
    return any ? best : -HUGE_VAL;
}

static int64_t divisor(const struct window *p, int64_t oh, int64_t ow)
{
    int64_t n = 0;

    if (p->op->mode == CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING)
        return p->op->window[0] * p->op->window[1];
    for (int64_t i = 0; i < p->op->window[0]; i++)
        for (int64_t j = 0; j < p->op->window[1]; j++)
            n += inside(p, row(p, oh, i), column(p, ow, j));
    return n;
}

static double average(const struct window *p, const float *x, int64_t oh, int64_t ow)
{
    double sum = 0;

    for (int64_t i = 0; i < p->op->window[0]; i++)
        for (int64_t j = 0; j < p->op->window[1]; j++) {
            int64_t ih = row(p, oh, i), iw = column(p, ow, j);

            if (inside(p, ih, iw))
                sum += (double)x[(ih * p->w + iw) * p->c];
        }
    return sum / (double)divisor(p, oh, ow);
}

static void forward(const struct window *p, const struct value *x, struct value *y,
                    struct value *index)
{
    int64_t pos = 0;

    for (int64_t o = 0; o < y->dims[0] * p->oh * p->ow; o++)
        for (int64_t c = 0; c < p->c; c++, pos++) {
            int64_t n = o / (p->oh * p->ow), oh = o / p->ow % p->oh, ow = o % p->ow, i;
            const float *image = x->v + n * p->h * p->w * p->c + c;

            if (p->op->mode != CUDNN_RESAMPLE_MAXPOOL) {
                y->v[pos] = (float)average(p, image, oh, ow);
                continue;
            }
            y->v[pos] = (float)largest(p, image, oh, ow, &i);
            if (index)
                index->v[pos] = (float)i;
        }
}

/* Adds one window's gradient to the image: all of it at one position, or equal shares. */
static void spread(const struct window *p, double dy, int64_t only, int64_t oh,
                   int64_t ow, double *dx)
{
    bool max = p->op->mode == CUDNN_RESAMPLE_MAXPOOL;
    double share = max ? dy : dy / (double)divisor(p, oh, ow);

    for (int64_t i = 0; i < p->op->window[0] * p->op->window[1]; i++) {
        int64_t ih = row(p, oh, i / p->op->window[1]);
        int64_t iw = column(p, ow, i % p->op->window[1]);

        if ((!max || i == only) && inside(p, ih, iw))
            dx[(ih * p->w + iw) * p->c] += share;
    }
}

static void backward(const struct window *p, const struct value *dy,
                     const struct value *index, struct value *dx)
{
    double *sum = value_memory(sizeof(*sum) * (size_t)dx->count);
    int64_t pos = 0;

    memset(sum, 0, sizeof(*sum) * (size_t)dx->count);
    for (int64_t o = 0; o < dy->dims[0] * p->oh * p->ow; o++)
        for (int64_t c = 0; c < p->c; c++, pos++) {
            int64_t n = o / (p->oh * p->ow), oh = o / p->ow % p->oh, ow = o % p->ow;

            spread(p, (double)dy->v[pos], index ? (int64_t)index->v[pos] : -1, oh, ow,
                   sum + n * p->h * p->w * p->c + c);
        }
    for (int64_t i = 0; i < dx->count; i++)
        dx->v[i] = (float)sum[i];
}

void run_resample(const struct run *r, const struct op *op)
{
    bool back = op->kind == CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR;
    struct value *out = run_out(r, op, back ? POOL_DX : POOL_Y);
    const struct value *in = run_in(r, op, back ? POOL_DY : POOL_X);
    const struct value *x = back ? out : in, *y = back ? in : out;
    struct window p = {op, x->dims[2], x->dims[3], x->dims[1], y->dims[2], y->dims[3]};

    if (back)
        backward(&p, in, run_in(r, op, POOL_INDEX), out);
    else
        forward(&p, in, out, run_out(r, op, POOL_INDEX));
}
