/*
 * resample, average pools of any windows, and their gradients, which differ only in their
 * taps: rows are combined into a buffer, whose columns are combined into a row of the
 * result.
 */
#include "ops/separable.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/image.h"

struct resample_state {
    struct resample_taps rows, columns;
    int64_t buffer; /* floats per thread */
};

struct job {
    struct resample_rows what;
    const struct resample_state *st;
    struct step *s;
    const struct device *dev;
};

static const char *resample_claim(struct region *r, struct graph *g, struct node *n,
                                  struct device *dev)
{
    struct resample_state *st = region_state(r);
    const struct tensor *x = n->in[0];

    (void)g;
    if (!is_separable(n))
        return "neither resample nor avgpool2d";
    if (!cpu_dtype(x) || x->dtype != n->out[0]->dtype)
        return "fp32 and bf16 only, and one of them for all";

    st->rows = separable_taps(n, IMAGE_H);
    st->columns = separable_taps(n, IMAGE_W);
    st->buffer = (x->dim[IMAGE_W] * x->dim[IMAGE_C] + 15) / 16 * 16;
    region_claim_node(r, n);
    region_workspace(r, (size_t)(dev->threads * st->buffer) * sizeof(float));
    return NULL;
}

static void resample_thread(void *arg, int thread)
{
    const struct job *j = arg;
    const struct tensor *y = j->s->out_tensor[0];
    float *buffer = (float *)j->s->workspace + thread * j->st->buffer;
    int64_t lo, hi;

    cpu_part(y->dim[IMAGE_N] * y->dim[IMAGE_H], 1, thread, j->dev->threads, &lo, &hi);
    j->dev->loops->resample(&j->what, j->s->in[0], j->s->out[0], buffer, lo, hi);
}

static void resample_run(struct step *s, struct device *dev)
{
    const struct resample_state *st = s->state;
    const struct tensor *x = s->in_tensor[0];
    struct resample_rows what = {
        .t = x->dtype,
        .c = x->dim[IMAGE_C],
        .in_h = x->dim[IMAGE_H],
        .in_w = x->dim[IMAGE_W],
        .rows = &st->rows,
        .columns = &st->columns,
        .streamed = x->dim[IMAGE_C] % dev->loops->lanes == 0 && cpu_streams(dev, s, 0),
    };
    struct job j = {what, st, s, dev};

    cpu_parallel(dev, resample_thread, &j);
}

static void resample_release(struct step *s)
{
    struct resample_state *st = s->state;

    resample_taps_release(&st->rows);
    resample_taps_release(&st->columns);
}

const struct kernel cpu_resample = {
    .name = "cpu resample",
    .claim = resample_claim,
    .run = resample_run,
    .release = resample_release,
    .state_size = sizeof(struct resample_state),
};
