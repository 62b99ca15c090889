/*
 * Layer norm and its gradient: rows are spread over threads. With mixed precision, a layer
 * norm in fp32 writes its result in bf16 if nothing reads it in fp32, and its gradient
 * reads a bf16 dy: the casts are part of their regions, and the bits are the same.
 */
#include "ops/layernorm.h"

#include <string.h>

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/cast.h"
#include "ops/image.h"

/* MERGE_ROWS: rows whose sums may stay in fp32 */
enum { LANES_MAX = 16, MERGE_ROWS = 256 };

/* The workspace: vectors of `padded` floats. */
struct layernorm_state {
    int64_t rows, channels, padded;
    bool affine;
    float eps;
};

struct job {
    struct step *s;
    const struct device *dev;
    const struct layernorm_state *st;
    const float *ones, *zeros; /* used without a weight and a bias */
    double *total;             /* [threads][2][padded]: dweight, dbias */
    float *sum;                /* the same */
    bool streamed;
};

static void layernorm_sizes(struct region *r, const struct node *n, bool affine)
{
    struct layernorm_state *st = region_state(r);
    const struct tensor *x = n->in[LAYERNORM_X];

    st->channels = tensor_channels(x);
    st->rows = tensor_len(x) / st->channels;
    st->padded = (st->channels + LANES_MAX - 1) / LANES_MAX * LANES_MAX;
    st->affine = affine;
}

static size_t ones_size(const struct layernorm_state *st)
{
    return st->affine ? 0 : 2 * (size_t)st->padded * sizeof(float);
}

/* Fills ones and zeros at the start of the workspace; returns the memory after them. */
static void *ones_fill(struct job *j)
{
    float *ones = j->s->workspace;
    int64_t n = j->st->padded;

    if (j->st->affine)
        return ones;
    for (int64_t i = 0; i < n; i++)
        ones[i] = 1;
    memset(ones + n, 0, (size_t)n * sizeof(*ones));
    j->ones = ones;
    j->zeros = ones + n;
    return ones + 2 * n;
}

/* Results are streamed if a row is a whole number of cache lines. */
static bool rows_stream(const struct job *j, int k)
{
    return cpu_streams(j->dev, j->s, k) &&
           (size_t)j->st->channels * dtype_size(j->s->out_tensor[k]->dtype) % 64 == 0;
}

/* ---- forward ---- */

/* Returns the layer norm whose result only n reads, a cast to bf16, or NULL. */
static struct node *cast_norm(const struct graph *g, const struct node *n)
{
    struct node *norm =
        n->op == &op_cast ? sole_producer(g, n->in[CAST_X], &op_layernorm) : NULL;

    return norm && n->in[CAST_X] == norm->out[LAYERNORM_Y] &&
                   n->out[0]->dtype == DTYPE_BF16
               ? norm
               : NULL;
}

static const char *layernorm_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *dev)
{
    struct layernorm_state *st = region_state(r);
    struct node *norm = n->op == &op_layernorm ? n : cast_norm(g, n);

    (void)dev;
    if (!norm)
        return "not a layer norm";
    if (!cpu_dtype(norm->in[LAYERNORM_X]) ||
        norm->out[LAYERNORM_Y]->dtype != norm->in[LAYERNORM_X]->dtype)
        return "fp32 and bf16 only, and one of them for all";

    region_claim(r, norm);
    if (norm != n)
        region_claim(r, n);
    for (int i = 0; i < norm->nin; i++)
        (void)region_read(r, norm->in[i]);
    (void)region_write(r, n->out[0]);
    (void)region_write(r, norm->out[LAYERNORM_MEAN]);
    (void)region_write(r, norm->out[LAYERNORM_RSTD]);
    if (norm == n)
        region_inplace(r, LAYERNORM_Y, LAYERNORM_X);
    layernorm_sizes(r, norm, norm->nin > LAYERNORM_WEIGHT);
    st->eps = ((const struct layernorm_attrs *)norm->attrs)->eps;
    region_workspace(r, ones_size(st));
    return NULL;
}

static float *at_row(float *p, int64_t row)
{
    return p ? p + row : NULL;
}

static void layernorm_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    struct step *s = j->s;
    struct ln_rows p = {.t = s->in_tensor[LAYERNORM_X]->dtype,
                        .y_type = s->out_tensor[LAYERNORM_Y]->dtype,
                        .n = j->st->channels,
                        .eps = j->st->eps,
                        .streamed = j->streamed};

    p.x = cpu_at(s->in[LAYERNORM_X], p.t, lo * p.n);
    p.y = cpu_out(s->out[LAYERNORM_Y], p.y_type, lo * p.n);
    p.weight = j->st->affine ? s->in[LAYERNORM_WEIGHT] : j->ones;
    p.bias = j->st->affine ? s->in[LAYERNORM_BIAS] : j->zeros;
    p.mean = at_row(s->out[LAYERNORM_MEAN], lo);
    p.rstd = at_row(s->out[LAYERNORM_RSTD], lo);
    j->dev->loops->ln_rows(&p, hi - lo);
}

static void layernorm_run(struct step *s, struct device *dev)
{
    struct job j = {.s = s, .dev = dev, .st = s->state};

    (void)ones_fill(&j);
    j.streamed = rows_stream(&j, LAYERNORM_Y);
    cpu_for(dev, j.st->rows, 1, layernorm_part, &j);
}

const struct kernel cpu_layernorm = {
    .name = "cpu layernorm",
    .claim = layernorm_claim,
    .run = layernorm_run,
    .state_size = sizeof(struct layernorm_state),
};

/* ---- backward ---- */

static const char *layernorm_grad_claim(struct region *r, struct graph *g, struct node *n,
                                        struct device *dev)
{
    struct layernorm_state *st = region_state(r);
    const struct tensor *x;
    struct node *cast;

    if (n->op != &op_layernorm_grad)
        return "not the gradient of a layer norm";
    x = n->in[LAYERNORM_GRAD_X];
    if (!cpu_dtype(x) || n->in[LAYERNORM_GRAD_DY]->dtype != x->dtype ||
        n->out[LAYERNORM_GRAD_DX]->dtype != x->dtype)
        return "fp32 and bf16 only, and one of them for all";

    cast = sole_producer(g, n->in[LAYERNORM_GRAD_DY], &op_cast);
    if (cast && cast->in[CAST_X]->dtype != DTYPE_BF16)
        cast = NULL;
    region_claim(r, n);
    if (cast)
        region_claim(r, cast);
    for (int i = 0; i < n->nin; i++)
        (void)region_read(r,
                          cast && i == LAYERNORM_GRAD_DY ? cast->in[CAST_X] : n->in[i]);
    for (int i = 0; i < n->nout; i++)
        (void)region_write(r, n->out[i]);
    if (!cast)
        region_inplace(r, LAYERNORM_GRAD_DX, LAYERNORM_GRAD_DY);
    layernorm_sizes(r, n, n->nin > LAYERNORM_GRAD_WEIGHT);
    region_workspace(r, ones_size(st) + (size_t)dev->threads * 2 * (size_t)st->padded *
                                            (sizeof(double) + sizeof(float)));
    return NULL;
}

static struct ln_grad grad_args(const struct job *j, float *sum)
{
    struct step *s = j->s;
    enum dtype t = s->in_tensor[LAYERNORM_GRAD_X]->dtype;

    return (struct ln_grad){
        .t = t,
        .dy_type = s->in_tensor[LAYERNORM_GRAD_DY]->dtype,
        .n = j->st->channels,
        .weight = j->st->affine ? s->in[LAYERNORM_GRAD_WEIGHT] : j->ones,
        .dweight = sum,
        .dbias = sum + j->st->padded,
        .streamed = j->streamed,
    };
}

static void grad_chunk(const struct job *j, struct ln_grad *p, int64_t row, int64_t rows)
{
    struct step *s = j->s;

    p->x = cpu_at(s->in[LAYERNORM_GRAD_X], p->t, row * p->n);
    p->dy = cpu_at(s->in[LAYERNORM_GRAD_DY], p->dy_type, row * p->n);
    p->dx = cpu_out(s->out[LAYERNORM_GRAD_DX], p->t, row * p->n);
    p->mean = (const float *)s->in[LAYERNORM_GRAD_MEAN] + row;
    p->rstd = (const float *)s->in[LAYERNORM_GRAD_RSTD] + row;
    j->dev->loops->ln_grad(p, rows);
}

static void finish_channel(const struct job *j, int64_t c)
{
    float *dweight = j->s->out[LAYERNORM_GRAD_DWEIGHT];
    float *dbias = j->s->out[LAYERNORM_GRAD_DBIAS];
    double w = 0, b = 0;

    for (int t = 0; t < j->dev->threads; t++) {
        const double *total = j->total + 2 * t * j->st->padded;

        w += total[c];
        b += total[j->st->padded + c];
    }
    if (dweight)
        dweight[c] = (float)w;
    if (dbias)
        dbias[c] = (float)b;
}

static void layernorm_grad_thread(void *arg, int thread)
{
    const struct job *j = arg;
    int64_t both = 2 * j->st->padded, lo, hi;
    double *total = j->total + thread * both;
    float *sum = j->sum + thread * both;
    struct ln_grad p = grad_args(j, sum);

    memset(total, 0, (size_t)both * sizeof(*total));
    memset(sum, 0, (size_t)both * sizeof(*sum));
    cpu_part(j->st->rows, 1, thread, j->dev->threads, &lo, &hi);
    for (int64_t row = lo; row < hi; row += MERGE_ROWS) {
        grad_chunk(j, &p, row, hi - row < MERGE_ROWS ? hi - row : MERGE_ROWS);
        j->dev->loops->bn_merge(both, sum, total);
    }
    cpu_barrier();
    cpu_part(j->st->channels, 1, thread, j->dev->threads, &lo, &hi);
    for (int64_t c = lo; c < hi; c++)
        finish_channel(j, c);
}

static void layernorm_grad_run(struct step *s, struct device *dev)
{
    struct job j = {.s = s, .dev = dev, .st = s->state};

    j.total = ones_fill(&j);
    j.sum = (float *)(j.total + dev->threads * 2 * j.st->padded);
    j.streamed = rows_stream(&j, LAYERNORM_GRAD_DX);
    cpu_parallel(dev, layernorm_grad_thread, &j);
}

const struct kernel cpu_layernorm_grad = {
    .name = "cpu layernorm_grad",
    .claim = layernorm_grad_claim,
    .run = layernorm_grad_run,
    .state_size = sizeof(struct layernorm_state),
};
