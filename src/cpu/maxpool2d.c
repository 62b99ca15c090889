/*
 * Max pools of any windows and their gradients: rectangular and adaptive ones, which
 * cpu/pool2d.c leaves. A thread computes some channels of an image at a time, of which it
 * has the gradient in a buffer.
 */
#include "ops/maxpool2d.h"

#include <string.h>

#include "base/clones.h"
#include "base/half.h"
#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/image.h"

#ifndef __clang__
#pragma GCC optimize("O3") /* base/clones.h */
#endif

enum { WIDE = 16 }; /* channels at a time */

struct pool_state {
    struct resample_taps rows, columns;
    int64_t buffer; /* floats per thread, of the gradient */
};

static const char *pool_claim(struct region *r, struct graph *g, struct node *n,
                              struct device *dev)
{
    struct pool_state *st = region_state(r);
    const struct pool2d_attrs *a = n->attrs;

    (void)g;
    if (n->op != &op_maxpool2d && n->op != &op_maxpool2d_grad)
        return "not a maxpool2d";
    for (int i = 0; i < n->nin; i++)
        if (!cpu_dtype(n->in[i]) || n->in[i]->dtype != n->out[0]->dtype)
            return "fp32 and bf16 only, and one of them for all";

    st->rows = pool2d_taps(a, IMAGE_H);
    st->columns = pool2d_taps(a, IMAGE_W);
    st->buffer =
        n->op == &op_maxpool2d_grad ? (int64_t)a->in_h * a->in_w * (int64_t)WIDE : 0;
    region_claim_node(r, n);
    region_workspace(r, (size_t)(dev->threads * st->buffer) * sizeof(float));
    return NULL;
}

static inline float value(enum dtype t, const void *x, int64_t i)
{
    return t == DTYPE_F32 ? ((const float *)x)[i]
                          : bf16_to_float(((const uint16_t *)x)[i]);
}

static inline void set_value(enum dtype t, void *y, int64_t i, float v)
{
    if (t == DTYPE_F32)
        ((float *)y)[i] = v;
    else
        ((uint16_t *)y)[i] = bf16_from_float(v);
}

/* A window: the pixels of rows [top, bottom) and columns [left, right), `row` per row. */
struct window {
    int64_t top, bottom, left, right, row;
    int64_t channels; /* of a pixel */
};

/* Finds the largest values of n channels and their pixels: the first of equal ones, the
 * last NaN. */
static inline void find_largest(enum dtype t, const void *x, int64_t start,
                                const struct window *w, int n, float *best, int32_t *won)
{
    for (int c = 0; c < n; c++) {
        best[c] = value(t, x, start + (w->top * w->row + w->left) * w->channels + c);
        won[c] = (int32_t)(w->top * w->row + w->left);
    }
    for (int64_t h = w->top; h < w->bottom; h++)
        for (int64_t v = w->left; v < w->right; v++) {
            int64_t pixel = h * w->row + v, i = start + pixel * w->channels;

            for (int c = 0; c < n; c++) {
                float a = value(t, x, i + c);
                bool more = a > best[c] || a != a;

                best[c] = more ? a : best[c];
                won[c] = more ? (int32_t)pixel : won[c];
            }
        }
}

/* The channels of an image: x from `x_at` on, y (or dy) from `y_at` on. */
struct part {
    enum dtype t;
    const void *x;
    void *y; /* dy is only read */
    int64_t x_at, y_at, channels, in_w;
    const struct pool_state *st;
    float *sums; /* of the gradient, [pixel][WIDE]; or NULL */
};

static inline void windows_typed(enum dtype t, const struct part *p, int n)
{
    const struct resample_taps *rows = &p->st->rows, *columns = &p->st->columns;
    float best[WIDE];
    int32_t won[WIDE];

    for (int64_t h = 0; h < rows->n; h++)
        for (int64_t v = 0; v < columns->n; v++) {
            struct window w = {rows->first[h],    rows->first[h] + rows->count[h],
                               columns->first[v], columns->first[v] + columns->count[v],
                               p->in_w,           p->channels};
            int64_t pos = p->y_at + (h * columns->n + v) * p->channels;

            find_largest(t, p->x, p->x_at, &w, n, best, won);
            for (int c = 0; c < n; c++)
                if (p->sums)
                    p->sums[(int64_t)won[c] * WIDE + c] += value(t, p->y, pos + c);
                else
                    set_value(t, p->y, pos + c, best[c]);
        }
}

CLONES static void windows_f32(const struct part *p, int n)
{
    if (n == WIDE)
        windows_typed(DTYPE_F32, p, WIDE);
    else
        windows_typed(DTYPE_F32, p, n);
}

CLONES static void windows_bf16(const struct part *p, int n)
{
    if (n == WIDE)
        windows_typed(DTYPE_BF16, p, WIDE);
    else
        windows_typed(DTYPE_BF16, p, n);
}

static void store_sums(const struct part *p, void *dx, int64_t pixels, int n)
{
    for (int64_t i = 0; i < pixels; i++)
        for (int c = 0; c < n; c++)
            set_value(p->t, dx, p->x_at + i * p->channels + c, p->sums[i * WIDE + c]);
}

struct job {
    const struct device *dev;
    struct step *s;
};

static void pool_thread(void *arg, int thread)
{
    const struct job *j = arg;
    const struct pool_state *st = j->s->state;
    const struct tensor *x = j->s->in_tensor[0];
    bool grad = st->buffer > 0;
    int64_t channels = x->dim[IMAGE_C], blocks = (channels + WIDE - 1) / WIDE, lo, hi;
    int64_t in = x->dim[IMAGE_H] * x->dim[IMAGE_W], out = st->rows.n * st->columns.n;
    struct part p = {.t = x->dtype,
                     .x = j->s->in[0],
                     .y = grad ? j->s->in[MAXPOOL2D_GRAD_DY] : j->s->out[0],
                     .channels = channels,
                     .in_w = x->dim[IMAGE_W],
                     .st = st};

    if (grad)
        p.sums = (float *)j->s->workspace + thread * st->buffer;
    cpu_part(x->dim[IMAGE_N] * blocks, 1, thread, j->dev->threads, &lo, &hi);
    for (int64_t i = lo; i < hi; i++) {
        int64_t c = i % blocks * WIDE;
        int n = (int)(channels - c < WIDE ? channels - c : WIDE);

        p.x_at = i / blocks * in * channels + c;
        p.y_at = i / blocks * out * channels + c;
        if (grad)
            memset(p.sums, 0, (size_t)st->buffer * sizeof(float));
        if (p.t == DTYPE_F32)
            windows_f32(&p, n);
        else
            windows_bf16(&p, n);
        if (grad)
            store_sums(&p, j->s->out[0], in, n);
    }
}

static void pool_run(struct step *s, struct device *dev)
{
    struct job j = {dev, s};

    cpu_parallel(dev, pool_thread, &j);
}

static void pool_release(struct step *s)
{
    struct pool_state *st = s->state;

    resample_taps_release(&st->rows);
    resample_taps_release(&st->columns);
}

const struct kernel cpu_maxpool2d = {
    .name = "cpu maxpool2d",
    .claim = pool_claim,
    .run = pool_run,
    .release = pool_release,
    .state_size = sizeof(struct pool_state),
};
