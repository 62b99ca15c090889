/* The weight gradient of depthwise convolutions. */
#include <string.h>

#include "cpu/conv/depthwise.h"

struct grad_job {
    const struct device *dev;
    const struct conv_shape *s;
    struct conv_window window;
    struct depthwise_rows x, dy;
    float *dw, *db, *scratch;
};

static struct grad_job job_of(const struct device *dev, const struct conv_shape *s)
{
    struct grad_job j = {.dev = dev, .s = s, .window = conv_window_forward(s, 1)};

    j.x = depthwise_rows(dev, s, false, s->kernel_h);
    j.dy = depthwise_rows(dev, s, true, 1);
    depthwise_sides(&j.x, &j.window);
    return j;
}

/* A thread has sums for each tap of each block of channels, and the sum of dy. */
static size_t sum_floats(const struct conv_shape *s)
{
    return (size_t)(s->kernel_h * s->kernel_w + 1) * (size_t)depthwise_table(s->c);
}

static size_t thread_floats(const struct grad_job *j)
{
    return sum_floats(j->s) + depthwise_ring_floats(&j->x) +
           depthwise_ring_floats(&j->dy);
}

size_t depthwise_weight_grad_scratch(const struct conv_shape *s, int threads)
{
    struct grad_job j = job_of(NULL, s);

    return (size_t)threads * thread_floats(&j) * sizeof(float);
}

struct thread_job {
    const struct grad_job *j;
    struct depthwise_rows x, dy;
    float *sums;
};

/* Adds a row of dy. */
static void add_row(struct thread_job *t, int row, float *sums)
{
    const struct conv_window *v = &t->j->window;
    ptrdiff_t block = 2 * (ptrdiff_t)t->j->dev->loops->lanes;
    struct depthwise_sum tap[CONV_TAPS];
    const float *x = NULL;
    struct depthwise_sums p = {
        .cols = v->cols,
        .step = v->step_w,
        .tap = tap,
        .dy = depthwise_ring_row(&t->dy, row),
        .db = t->j->db ? sums + v->taps * block : NULL,
    };

    for (int i = 0, last = -1; i < v->taps; i++) {
        int y = row * v->step_h + v->tap[i].y;

        if (y < 0 || y >= v->h)
            continue;
        if (y != last)
            x = depthwise_ring_row(&t->x, y);
        last = y;
        tap[p.taps++] = (struct depthwise_sum){x + v->tap[i].x * block,
                                               sums + v->tap[i].index * block};
    }
    t->j->dev->loops->conv.depthwise_sums(&p);
}

static void add_part(void *arg, int64_t image, int row, int end, int channel)
{
    struct thread_job *t = arg;

    depthwise_ring_start(&t->x, image, channel);
    depthwise_ring_start(&t->dy, image, channel);
    for (; row < end; row++)
        add_row(t, row, t->sums + (ptrdiff_t)channel * (t->j->window.taps + 1));
}

/* Adds the sums of all threads for channels [lo, hi). */
static void join(const struct grad_job *j, int64_t lo, int64_t hi)
{
    int taps = j->window.taps, block = 2 * j->dev->loops->lanes;

    for (int64_t c = lo; c < hi; c++)
        for (int t = 0; t <= taps; t++) {
            int64_t pos = loops_place(j->s->type, j->dev->loops->lanes, c);
            double sum = 0;

            pos += pos / block * block * taps + t * block;
            for (int i = 0; i < j->dev->threads; i++)
                sum += (double)j->scratch[(size_t)i * thread_floats(j) + (size_t)pos];
            if (t < taps)
                j->dw[c * taps + t] = (float)sum;
            else if (j->db)
                j->db[c] = (float)sum;
        }
}

static void grad_thread(void *arg, int thread)
{
    const struct grad_job *j = arg;
    struct thread_job t = {j, j->x, j->dy,
                           j->scratch + (size_t)thread * thread_floats(j)};
    int64_t lo, hi;

    memset(t.sums, 0, sum_floats(j->s) * sizeof(float));
    depthwise_ring_clear(&t.x, t.sums + sum_floats(j->s));
    depthwise_ring_clear(&t.dy, t.x.floats + depthwise_ring_floats(&t.x));
    depthwise_parts(&t.x, j->s->ho, thread, add_part, &t);
    cpu_barrier();
    cpu_part(j->s->c, 1, thread, j->dev->threads, &lo, &hi);
    join(j, lo, hi);
}

void depthwise_weight_grad(const struct device *dev, const struct conv_shape *s,
                           const void *x, const void *dy, float *dw, float *db,
                           void *scratch)
{
    struct grad_job j = job_of(dev, s);

    j.x.x = x;
    j.dy.x = dy;
    j.dw = dw;
    j.db = db;
    j.scratch = scratch;
    cpu_parallel(dev, grad_thread, &j);
}
