/*
 * Batch norm backward on the CPU, fused with the ops before it: the sum of two gradients,
 * the slope of an activation, and the factors of a dropout2d.
 *
 *   dz = (g + g2) slope;  sum = sum factor dz;  dot = sum factor dz (x - mean)
 *   dx = weight rstd (factor dz - sum/n - (x - mean) rstd^2 dot/n)
 *   dweight = dot rstd;  dbias = sum
 *
 * One pass reads x and g for the sums, from the last elements to the first; a second one
 * reads them again, forward, and writes dx (see batchnorm.c for the order). Directly
 * after a batch norm, the slope follows from its output, which is recomputed from x; after
 * an add, what the activation's gradient reads has been stored. If dz has other readers (the shortcut), the first
 * pass stores it and the second reads it. A factor is constant for a sample's channel, so
 * it multiplies the sums of each sample, and the table of weight rstd, which is then
 * separate for each sample.
 */
#include "ops/batchnorm.h"

#include "cpu/batchnorm.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/batchnorm_formula.h"

enum { READ_X, READ_WEIGHT, READ_MEAN, READ_VAR, READ_G };
enum { WRITE_DX, WRITE_DWEIGHT, WRITE_DBIAS, WRITE_DZ };

struct batchnorm_grad_state {
    struct rows rows;
    const struct collective *group; /* shares its statistics; may be NULL */
    float eps;
    enum bn_slope slope;
    struct loop_activation act;
    int g2, y, bias; /* indices of reads, or -1 */
    bool dz;         /* stored for other readers */
    struct samples samples;
};

struct match {
    struct node *act, *add, *drop; /* act: the gradient of an activation */
    struct tensor *g, *g2, *y, *bias, *dz;
};

/* Returns the batch norm whose gradient is n if the activation with this gradient follows
 * it directly. */
static struct node *bn_before(const struct node *n, const struct node *grad)
{
    const struct tensor *y = grad->in[ACTIVATION_GRAD_Y];
    struct node *act = y->producer, *bn = act;

    if (activation_grad_of(grad)->from_y) {
        if (!act || activation_of(act) != activation_grad_of(grad))
            return NULL;
        bn = act->in[ACTIVATION_X]->producer;
    }
    if (!bn || bn->op != &op_batchnorm ||
        bn->in[BATCHNORM_X] != n->in[BATCHNORM_GRAD_X] ||
        bn->in[BATCHNORM_WEIGHT] != n->in[BATCHNORM_GRAD_WEIGHT])
        return NULL;
    return bn;
}

static void find_match(struct match *f, const struct graph *g, struct node *n)
{
    struct tensor *dz = n->in[BATCHNORM_GRAD_DY];
    struct node *p, *bn;

    f->drop = sole_producer(g, dz, &op_dropout2d);
    if (f->drop && f->drop->in[DROPOUT_X]->dtype != dz->dtype)
        f->drop = NULL;
    dz = f->drop ? f->drop->in[DROPOUT_X] : dz;
    p = dz->producer;
    f->g = dz;
    if (p && activation_grad_of(p) && node_free(p)) {
        f->act = p;
        f->y = p->in[ACTIVATION_GRAD_Y];
        f->g = p->in[ACTIVATION_GRAD_DY];
        bn = bn_before(n, p);
        f->bias = bn && !f->drop ? bn->in[BATCHNORM_BIAS] : NULL;
        if (dz->root || !tensor_only_reader(g, dz))
            f->dz = dz;
    }
    p = f->g->producer;
    if (p && p->op == &op_add && p->nin == 2 && node_free(p) && !f->g->root &&
        tensor_only_reader(g, f->g)) {
        f->add = p;
        f->g = p->in[0];
        f->g2 = p->in[1];
    }
}

static const char *batchnorm_grad_claim(struct region *r, struct graph *g, struct node *n,
                                        struct device *dev)
{
    struct batchnorm_grad_state *st = region_state(r);
    struct match f = {0};
    const struct tensor *x;

    if (n->op != &op_batchnorm_grad)
        return "not the gradient of a batch norm";
    x = n->in[BATCHNORM_GRAD_X];
    if (!cpu_dtype(x) || x->dtype != n->in[BATCHNORM_GRAD_DY]->dtype)
        return "fp32 and bf16 only, and one of them for all";
    find_match(&f, g, n);

    st->rows = rows_of(x, dev);
    st->eps = ((const struct batchnorm_attrs *)n->attrs)->eps;
    st->group = ((const struct batchnorm_attrs *)n->attrs)->group;
    st->slope = !f.act ? BN_SLOPE_NONE : f.bias ? BN_SLOPE_X : BN_SLOPE_Y;
    st->act = loop_slope(f.act);
    st->dz = f.dz != NULL;
    region_claim(r, n);
    if (f.act)
        region_claim(r, f.act);
    if (f.add)
        region_claim(r, f.add);
    (void)region_read(r, n->in[BATCHNORM_GRAD_X]);
    (void)region_read(r, n->in[BATCHNORM_GRAD_WEIGHT]);
    (void)region_read(r, n->in[BATCHNORM_GRAD_MEAN]);
    (void)region_read(r, n->in[BATCHNORM_GRAD_VAR]);
    (void)region_read(r, f.g);
    st->g2 = f.g2 ? region_read(r, f.g2) : -1;
    st->y = st->slope == BN_SLOPE_Y ? region_read(r, f.y) : -1;
    st->bias = f.bias ? region_read(r, f.bias) : -1;
    st->samples = samples_claim(r, f.drop, x);
    for (int i = 0; i < 3; i++)
        (void)region_write(r, n->out[i]);
    region_inplace(r, WRITE_DX, READ_X);
    if (f.dz)
        region_inplace(r, region_write(r, f.dz), READ_G);
    region_workspace(r, batchnorm_shared(&st->rows) + batchnorm_space(&st->rows, dev) +
                            samples_space(&st->samples, &st->rows));
    return NULL;
}

struct job {
    const struct batchnorm_grad_state *st;
    struct step *s;
    const struct device *dev;
    struct batchnorm_tables b;
    double *global_sums; /* sum and dot per channel, over all processes that share them */
    struct bn_grad sums, apply; /* of the whole tensor */
    float *factor;              /* [samples][width]; later weight rstd factor */
};

static struct bn_grad part(const struct bn_grad *whole, struct piece p)
{
    struct bn_grad a = *whole;
    int64_t i = p.first;

    a.n = p.n;
    a.streamed = a.streamed && i * (int64_t)dtype_size(a.t) % 64 == 0;
    a.x = cpu_at(a.x, a.t, i);
    a.y = cpu_at(a.y, a.t, i);
    a.g = cpu_at(a.g, a.t, i);
    a.g2 = cpu_at(a.g2, a.t, i);
    a.dz = cpu_out(a.dz, a.t, i);
    a.dx = cpu_out(a.dx, a.t, i);
    return a;
}

/* Recomputes the tables of the forward pass; each thread fills its channels. */
static void forward_tables(const struct job *j, int64_t lo, int64_t hi)
{
    const struct batchnorm_grad_state *st = j->st;
    const float *weight = j->s->in[READ_WEIGHT], *mean = j->s->in[READ_MEAN],
                *var = j->s->in[READ_VAR],
                *bias = st->bias >= 0 ? j->s->in[st->bias] : NULL;

    for (int64_t c = lo; c < hi; c++) {
        rows_repeat(&st->rows, j->b.table[0], c, mean[c]);
        rows_repeat(&st->rows, j->b.table[1], c,
                    batchnorm_scale(weight[c], batchnorm_rstd(var[c], st->eps)));
        rows_repeat(&st->rows, j->b.table[2], c, bias ? bias[c] : 0);
        for (int64_t i = 0; i < st->samples.n; i++)
            rows_repeat(&st->rows, j->factor + i * st->rows.width, c,
                        samples_factor(&st->samples, j->s, i, c));
    }
}

static void sum_up(const struct job *j, int thread)
{
    const struct rows *r = &j->st->rows;
    int64_t lo, hi, begin = thread * r->width;
    struct bn_grad whole = j->sums;

    batchnorm_tables_zero(&j->b, r, thread);
    rows_part(r, j->dev, thread, &lo, &hi);
    whole.sum = j->b.sum + begin;
    whole.dot = j->b.sum2 + begin;
    for (struct piece p = samples_last(&j->st->samples, r, lo, hi), next; p.n > 0;
         p = next) {
        struct bn_grad a = part(&whole, p);
        const float *factor = j->factor + p.sample * r->width;

        next = samples_last(&j->st->samples, r, lo, p.first);
        a.jump = next.n > 0 ? next.first - (p.first + p.n) : 0;
        j->dev->loops->bn_grad_sums(&a);
        for (int64_t c = 0; j->st->samples.drop && c < r->width; c++) {
            whole.sum[c] *= factor[c];
            whole.dot[c] *= factor[c];
        }
        j->dev->loops->bn_merge(r->width, whole.sum, j->b.total + begin);
        j->dev->loops->bn_merge(r->width, whole.dot, j->b.total2 + begin);
    }
}

/* Sums the channels; the parameters' gradients are those of this process. */
static void sum_channels(const struct job *j, int64_t lo, int64_t hi)
{
    const struct batchnorm_grad_state *st = j->st;
    float *dweight = j->s->out[WRITE_DWEIGHT], *dbias = j->s->out[WRITE_DBIAS];
    const float *var = j->s->in[READ_VAR];

    for (int64_t c = lo; c < hi; c++) {
        double sum = rows_total(&st->rows, j->b.total, j->dev->threads, c);
        double dot = rows_total(&st->rows, j->b.total2, j->dev->threads, c);

        if (dweight)
            dweight[c] = (float)(dot * (double)batchnorm_rstd(var[c], st->eps));
        if (dbias)
            dbias[c] = (float)sum;
        j->global_sums[2 * c] = sum;
        j->global_sums[2 * c + 1] = dot;
    }
}

/* All threads call it; the first one communicates with the other processes. */
static void share_sums(const struct job *j, int thread)
{
    const struct collective *group = j->st->group;

    cpu_barrier();
    if (!thread)
        group->sum(group, j->global_sums, 2 * j->st->rows.channels);
    cpu_barrier();
}

static void finish_channels(const struct job *j, int64_t lo, int64_t hi)
{
    const struct batchnorm_grad_state *st = j->st;
    const struct rows *r = &st->rows;
    const float *weight = j->s->in[READ_WEIGHT], *var = j->s->in[READ_VAR];
    double n = (double)r->positions * (st->group ? st->group->world : 1);

    for (int64_t c = lo; c < hi; c++) {
        double sum = j->global_sums[2 * c], dot = j->global_sums[2 * c + 1];
        float rstd = batchnorm_rstd(var[c], st->eps),
              a = batchnorm_scale(weight[c], rstd);

        for (int64_t i = 0; i < st->samples.n; i++)
            rows_repeat(r, j->factor + i * r->width, c,
                        a * rows_number(r, j->factor + i * r->width, c));
        rows_repeat(r, j->b.table[3], c,
                    (float)((double)a * (double)rstd * (double)rstd * dot / n));
        rows_repeat(r, j->b.table[4], c, (float)((double)a * sum / n));
    }
}

static void apply(const struct job *j, int thread)
{
    const struct rows *r = &j->st->rows;
    int64_t lo, hi;

    rows_part(r, j->dev, thread, &lo, &hi);
    for (struct piece p; lo < hi; lo += p.n) {
        struct bn_grad a;

        p = samples_first(&j->st->samples, r, lo, hi);
        a = part(&j->apply, p);
        a.a = j->factor + p.sample * r->width;
        j->dev->loops->bn_grad_apply(&a);
    }
}

static void batchnorm_grad_thread(void *arg, int thread)
{
    const struct job *j = arg;
    int64_t lo, hi;

    cpu_part(j->st->rows.channels, 1, thread, j->dev->threads, &lo, &hi);
    forward_tables(j, lo, hi);
    cpu_barrier();
    sum_up(j, thread);
    cpu_barrier();
    sum_channels(j, lo, hi);
    if (j->st->group)
        share_sums(j, thread);
    finish_channels(j, lo, hi);
    cpu_barrier();
    if (j->apply.dx)
        apply(j, thread);
}

static void batchnorm_grad_run(struct step *s, struct device *dev)
{
    const struct batchnorm_grad_state *st = s->state;
    struct job j = {.st = st, .s = s, .dev = dev};
    char *space;

    j.global_sums = s->workspace;
    space = (char *)s->workspace + batchnorm_shared(&st->rows);
    j.b = batchnorm_tables(space, &st->rows, dev);
    j.factor = (float *)(space + batchnorm_space(&st->rows, dev));
    j.sums = (struct bn_grad){
        .t = s->in_tensor[READ_X]->dtype,
        .width = st->rows.width,
        .x = s->in[READ_X],
        .y = st->y >= 0 ? s->in[st->y] : NULL,
        .g = s->in[READ_G],
        .g2 = st->g2 >= 0 ? s->in[st->g2] : NULL,
        .dz = st->dz ? s->out[WRITE_DZ] : NULL,
        .dx = s->out[WRITE_DX],
        .mean = j.b.table[0],
        .scale = j.b.table[1],
        .shift = j.b.table[2],
        .c = j.b.table[3],
        .d = j.b.table[4],
        .slope = st->slope,
        .act = st->act,
        .streamed = cpu_streams(dev, s, WRITE_DX),
        .uncached = cpu_uncached(dev, s->in_tensor[READ_X]),
    };
    j.apply = j.sums;
    if (j.sums.dz) { /* the second pass reads the dz stored by the first */
        j.apply.slope = BN_SLOPE_NONE;
        j.apply.g = j.sums.dz;
        j.apply.g2 = NULL;
    }
    cpu_parallel(dev, batchnorm_grad_thread, &j);
}

const struct kernel cpu_batchnorm_grad = {
    .name = "cpu batchnorm_grad",
    .claim = batchnorm_grad_claim,
    .run = batchnorm_grad_run,
    .state_size = sizeof(struct batchnorm_grad_state),
};
