/*
 * Max and average pools over windows, and their gradients, by our own loops. The gradient
 * of a pool whose result was concatenated reads its channels of dy within the wider
 * tensor.
 */
#include "cpu/pool2d.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/avgpool2d.h"
#include "ops/concat.h"
#include "ops/image.h"
#include "ops/maxpool2d.h"

struct pool_state {
    struct pool pool;
    int64_t rows;      /* of the result, over all images */
    size_t per_thread; /* int32_t of scratch */
    size_t skip;       /* bytes before the pool's channels of dy */
};

struct job {
    const struct pool_state *st;
    struct pool pool;
    struct step *s;
    const struct device *dev;
};

/* Returns the geometry, given the larger and the smaller image. */
static struct pool pool_of(const struct tensor *x, const struct tensor *y)
{
    return (struct pool){
        .t = x->dtype,
        .c = x->dim[IMAGE_C],
        .pitch = y->dim[IMAGE_C],
        .in_h = x->dim[IMAGE_H],
        .in_w = x->dim[IMAGE_W],
        .out_h = y->dim[IMAGE_H],
        .out_w = y->dim[IMAGE_W],
    };
}

static void maxpool_geometry(struct pool *p, const struct node *n)
{
    const struct pool2d_attrs *a = n->attrs;

    p->kernel = a->kernel;
    p->stride = a->stride;
    p->pad = a->padding;
}

struct pool pool2d_max(const struct node *n, const struct tensor *x,
                       const struct tensor *y)
{
    struct pool p = pool_of(x, y);

    maxpool_geometry(&p, n);
    return p;
}

static void avgpool_geometry(struct pool *p, const struct node *n)
{
    const struct pool2d_attrs *a = n->attrs;

    p->kernel = a->kernel;
    p->stride = a->stride;
    p->pad = a->padding;
}

static void pool_read(struct region *r, const struct node *n, struct pool_state *st)
{
    for (int i = 0; i < n->nin; i++) {
        int64_t start;
        struct tensor *t = n->in[i], *whole = channel_slice_of(t, &start);

        if (whole && n->op == &op_maxpool2d_grad && i == MAXPOOL2D_GRAD_DY) {
            region_duplicate(r, t->producer);
            st->pool.pitch = whole->dim[IMAGE_C];
            st->skip = (size_t)start * dtype_size(t->dtype);
            t = whole;
        }
        (void)region_read(r, t);
    }
}

static const char *pool_claim(struct region *r, struct graph *g, struct node *n,
                              struct device *dev)
{
    struct pool_state *st = region_state(r);
    bool max = n->op == &op_maxpool2d, max_grad = n->op == &op_maxpool2d_grad;
    bool avg = n->op == &op_avgpool2d, avg_grad = n->op == &op_avgpool2d_grad;
    const struct pool2d_attrs *a = n->attrs;
    const struct tensor *x, *y;

    (void)g;
    if (!max && !max_grad && !avg && !avg_grad)
        return "not a pool";
    if (!a->kernel || a->count_include_pad)
        return "square windows, padding not counted";
    x = avg_grad ? n->out[0] : n->in[0];
    y = max_grad ? n->in[MAXPOOL2D_GRAD_DY] : avg_grad ? n->in[0] : n->out[0];
    if (!cpu_dtype(x) || x->dtype != y->dtype || x->dtype != n->out[0]->dtype)
        return "fp32 and bf16 only, and one of them for all";

    st->pool = pool_of(x, y);
    if (max || max_grad)
        maxpool_geometry(&st->pool, n);
    else
        avgpool_geometry(&st->pool, n);
    st->pool.ring = (st->pool.kernel - 1) / st->pool.stride + 1;
    if ((max_grad || avg_grad) && st->pool.ring * st->pool.ring > POOL_COVERS)
        return "too many windows over a pixel";

    st->rows = n->out[0]->dim[IMAGE_N] * n->out[0]->dim[IMAGE_H];
    st->per_thread = max_grad ? (size_t)(st->pool.ring * st->pool.out_w * st->pool.c) : 0;
    region_claim(r, n);
    pool_read(r, n, st);
    (void)region_write(r, n->out[0]);
    region_workspace(r, (size_t)dev->threads * st->per_thread * sizeof(int32_t));
    return NULL;
}

static void pool_thread(void *arg, int thread)
{
    const struct job *j = arg;
    const struct loops *loops = j->dev->loops;
    const struct pool *p = &j->pool;
    const struct op *op = j->s->node->op;
    int32_t *ring = (int32_t *)j->s->workspace + (size_t)thread * j->st->per_thread;
    int64_t lo, hi;

    if (op == &op_maxpool2d_grad) { /* whole images, because windows share rows */
        cpu_part(j->st->rows / p->in_h, 1, thread, j->dev->threads, &lo, &hi);
        for (int64_t n = lo; n < hi; n++)
            loops->maxpool_grad(p, j->s->in[MAXPOOL2D_GRAD_X],
                                (char *)j->s->in[MAXPOOL2D_GRAD_DY] + j->st->skip,
                                j->s->out[0], ring, n);
        return;
    }
    cpu_part(j->st->rows, 1, thread, j->dev->threads, &lo, &hi);
    if (op == &op_maxpool2d)
        loops->maxpool(p, j->s->in[0], j->s->out[0], lo, hi);
    else if (op == &op_avgpool2d)
        loops->avgpool(p, j->s->in[0], j->s->out[0], lo, hi);
    else
        loops->avgpool_grad(p, j->s->in[0], j->s->out[0], lo, hi);
}

static void pool_run(struct step *s, struct device *dev)
{
    const struct pool_state *st = s->state;
    const struct op *op = s->node->op;
    int vectors = op == &op_avgpool2d || op == &op_avgpool2d_grad ? 2 : 1;
    struct job j = {st, st->pool, s, dev};

    /* a pixel's channels must be a whole number of stores of `vectors` vectors */
    j.pool.streamed =
        st->pool.c % (vectors * dev->loops->lanes) == 0 && cpu_streams(dev, s, 0);
    cpu_parallel(dev, pool_thread, &j);
}

const struct kernel cpu_pool2d = {
    .name = "cpu pool2d",
    .claim = pool_claim,
    .run = pool_run,
    .state_size = sizeof(struct pool_state),
};
