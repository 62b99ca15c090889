/*
 * Batch norm forward on the CPU, fused with the ops after it: [dropout2d] [+ residual]
 * [activation]. The residual may be a second batch norm (a projection shortcut). A dropout's
 * factors are multiplied into the tables of scale and shift; each sample then has its own
 * tables.
 *
 * One pass reads x for the statistics, a second one reads x and writes y. Each thread
 * keeps its elements in both. The first pass begins with the last elements, which the
 * producer of x has left in the cache; the second runs forward, because the first
 * elements were read last.
 *
 * Sums: fp32 within a chunk, about a mean guessed from the thread's first rows, then
 * fp64.
 */
#include "ops/batchnorm.h"

#include <math.h>

#include "cpu/batchnorm.h"
#include "cpu/kernels.h"
#include "cpu/rows.h"
#include "graph/kernel.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/batchnorm_formula.h"
#include "ops/dropout.h"

/* One batch norm: the indices of its tensors in the step. */
struct norm {
    struct rows rows;
    const struct collective *group; /* shares its statistics; may be NULL */
    float eps;
    int x, weight, bias; /* indices of reads */
    int mean, var;       /* indices of writes */
};

struct batchnorm_state {
    struct norm norm[2];
    int nnorm;
    struct samples samples; /* of the first norm */
    /* index of the read of a residual tensor, of the write of y */
    int residual, y;
    struct loop_activation act;
    bool add;
};

struct match {
    struct node *act, *add, *drop, *bn[2];
    int nbn;
    struct tensor *residual;
};

/*
 * At most one of the two inputs has a dropout2d between batch norm and add: if the first
 * is a batch norm without one, a second with one is treated as a residual tensor.
 */
static bool find_add(struct match *f, const struct graph *g, struct node *add)
{
    if (add->nin != 2 || !node_free(add))
        return false;
    f->add = add;
    for (int i = 0; i < 2; i++) {
        struct node *bn = f->drop ? NULL : sole_producer(g, add->in[i], &op_batchnorm);
        struct node *drop =
            bn || f->nbn ? NULL : sole_producer(g, add->in[i], &op_dropout2d);

        if (drop) {
            bn = sole_producer(g, drop->in[DROPOUT_X], &op_batchnorm);
            f->drop = bn ? drop : NULL;
        }
        if (bn && !(f->nbn && bn == f->bn[0]))
            f->bn[f->nbn++] = bn;
        else
            f->residual = add->in[i];
    }
    return f->nbn > 0;
}

/* Matches from an activation, an add, or a batch norm down to the batch norms. */
static bool find_match(struct match *f, const struct graph *g, struct node *n)
{
    struct node *last = n; /* an add or a batch norm */

    if (activation_of(n)) {
        f->act = n;
        last = last_producer(g, n->in[ACTIVATION_X], n, NULL);
        if (!last)
            return false;
    }
    if (last->op == &op_add)
        return find_add(f, g, last);
    if (last->op != &op_batchnorm)
        return false;
    f->bn[f->nbn++] = last;
    return true;
}

static void claim_norm(struct region *r, struct norm *m, struct node *bn,
                       struct device *dev)
{
    m->rows = rows_of(bn->in[BATCHNORM_X], dev);
    m->eps = ((const struct batchnorm_attrs *)bn->attrs)->eps;
    m->group = ((const struct batchnorm_attrs *)bn->attrs)->group;
    region_claim(r, bn);
    m->x = region_read(r, bn->in[BATCHNORM_X]);
    m->weight = region_read(r, bn->in[BATCHNORM_WEIGHT]);
    m->bias = region_read(r, bn->in[BATCHNORM_BIAS]);
    m->mean = region_write(r, bn->out[BATCHNORM_MEAN]);
    m->var = region_write(r, bn->out[BATCHNORM_VAR]);
}

static const char *batchnorm_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *dev)
{
    struct batchnorm_state *st = region_state(r);
    struct match f = {0};
    const struct tensor *y;

    if (!find_match(&f, g, n))
        return "not a batch norm, nor an add or an activation directly after one";
    y = n->out[0];
    for (int i = 0; i < f.nbn; i++)
        if (f.bn[i]->in[BATCHNORM_X]->dtype != y->dtype)
            return "types differ";
    if (f.residual && f.residual->dtype != y->dtype)
        return "the shortcut has another type";
    if (f.drop && f.drop->out[0]->dtype != y->dtype)
        return "the dropout has another type";
    if (!cpu_dtype(y))
        return "fp32 and bf16 only";

    st->nnorm = f.nbn;
    st->act = loop_activation(f.act);
    st->add = f.add != NULL;
    for (int i = 0; i < f.nbn; i++)
        claim_norm(r, &st->norm[i], f.bn[i], dev);
    st->samples = samples_claim(r, f.drop, n->out[0]);
    if (f.add)
        region_claim(r, f.add);
    if (f.act)
        region_claim(r, f.act);
    st->residual = f.residual ? region_read(r, f.residual) : -1;
    st->y = region_write(r, n->out[0]);
    region_workspace(r, (size_t)st->nnorm * (batchnorm_space(&st->norm[0].rows, dev) +
                                             batchnorm_shared(&st->norm[0].rows)) +
                            2 * samples_space(&st->samples, &st->norm[0].rows));
    return NULL;
}

struct job {
    const struct batchnorm_state *st;
    struct step *s;
    const struct device *dev;
    struct batchnorm_tables tables[2];
    double *shared[2]; /* sum and sum of squares per channel, if processes share them */
    float *scale, *shift; /* of the first norm: [samples][width] */
};

/* Guesses the mean from the thread's first rows, to center its sums. */
static void guess_mean(const struct job *j, int k, int thread, enum dtype t, int64_t lo,
                       int64_t hi)
{
    const struct rows *r = &j->st->norm[k].rows;
    int64_t width = r->width, n = hi - lo < 16 * width ? hi - lo : 16 * width;
    const struct batchnorm_tables *b = &j->tables[k];
    float *guess = b->guess + thread * width, *sum = b->sum + thread * width,
          *sq = b->sum2 + thread * width;

    memset(guess, 0, (size_t)width * sizeof(*guess));
    j->dev->loops->bn_stats(t, cpu_at(j->s->in[j->st->norm[k].x], t, lo), n, width, guess,
                            sum, sq, false, 0);
    for (int64_t c = 0; c < r->channels; c++) {
        double s = 0;
        int64_t count = n / r->channels;

        for (int64_t i = c; i < width; i += r->channels)
            s += (double)rows_number(r, sum, i);
        rows_repeat(r, guess, c, count ? (float)(s / (double)count) : 0);
    }
    memset(sum, 0, (size_t)width * sizeof(*sum));
    memset(sq, 0, (size_t)width * sizeof(*sq));
}

static void statistics(const struct job *j, int k, int thread)
{
    const struct norm *m = &j->st->norm[k];
    const struct batchnorm_tables *b = &j->tables[k];
    const struct loops *loops = j->dev->loops;
    int64_t width = m->rows.width, lo, hi, begin = thread * width;
    enum dtype t = j->s->in_tensor[m->x]->dtype;

    batchnorm_tables_zero(b, &m->rows, thread);
    rows_part(&m->rows, j->dev, thread, &lo, &hi);
    guess_mean(j, k, thread, t, lo, hi);
    for (int64_t end = hi; end > lo;) {
        int64_t i = rows_last_chunk(&m->rows, lo, end), n = end - i;
        int64_t jump = i > lo ? -n - m->rows.chunk : 0;

        end = i;
        loops->bn_stats(t, cpu_at(j->s->in[m->x], t, i), n, width, b->guess + begin,
                        b->sum + begin, b->sum2 + begin,
                        cpu_uncached(j->dev, j->s->in_tensor[m->x]), jump);
        loops->bn_merge(width, b->sum + begin, b->total + begin);
        loops->bn_merge(width, b->sum2 + begin, b->total2 + begin);
    }
}

/* Returns how many positions of channel c the thread has summed. */
static double seen(const struct rows *r, const struct device *dev, int thread)
{
    int64_t lo, hi;

    rows_part(r, dev, thread, &lo, &hi);
    return (double)(hi - lo) / (double)r->channels;
}

static void finish_samples(const struct job *j, int64_t c)
{
    const struct rows *r = &j->st->norm[0].rows;

    for (int64_t i = 0; i < j->st->samples.n; i++) {
        float factor = samples_factor(&j->st->samples, j->s, i, c);

        rows_repeat(r, j->scale + i * r->width, c,
                    factor * rows_number(r, j->tables[0].table[1], c));
        rows_repeat(r, j->shift + i * r->width, c,
                    factor * rows_number(r, j->tables[0].table[2], c));
    }
}

/*
 * all: the channel's sum and sum of squares, from the sums about the threads' guesses.
 */
static void sum_channel(const struct job *j, int k, int64_t c, double all[2])
{
    const struct rows *r = &j->st->norm[k].rows;
    const struct batchnorm_tables *b = &j->tables[k];
    double sum = 0, sq = 0;

    for (int t = 0; t < j->dev->threads; t++) {
        double g = (double)rows_number(r, b->guess + t * r->width, c),
               count = seen(r, j->dev, t);
        double s = rows_total(r, b->total + t * r->width, 1, c);
        double q = rows_total(r, b->total2 + t * r->width, 1, c);

        sum += s + count * g;
        sq += q + 2 * g * s + count * g * g;
    }
    all[0] = sum;
    all[1] = sq;
}

/* Turns the sums into mean and variance, and these into the tables. */
static void finish_channel(const struct job *j, int k, int64_t c)
{
    const struct norm *m = &j->st->norm[k];
    const struct rows *r = &m->rows;
    const struct batchnorm_tables *b = &j->tables[k];
    const float *weight = j->s->in[m->weight], *bias = j->s->in[m->bias];
    float *mean_out = j->s->out[m->mean], *var_out = j->s->out[m->var];
    double n = (double)r->positions * (m->group ? m->group->world : 1), all[2], mean, var;

    if (m->group)
        memcpy(all, j->shared[k] + 2 * c, sizeof(all));
    else
        sum_channel(j, k, c, all);
    mean = all[0] / n;
    var = all[1] / n - mean * mean;
    var = var < 0 ? 0 : var; /* keeps NaN */
    if (mean_out)
        mean_out[c] = (float)mean;
    if (var_out)
        var_out[c] = (float)var;
    rows_repeat(r, b->table[0], c, (float)mean);
    rows_repeat(r, b->table[1], c,
                batchnorm_scale(weight[c], batchnorm_rstd((float)var, m->eps)));
    rows_repeat(r, b->table[2], c, bias[c]);
    if (k == 0)
        finish_samples(j, c);
}

static void apply(const struct job *j, int thread)
{
    const struct batchnorm_state *st = j->st;
    const struct norm *m = &st->norm[0];
    enum dtype t = j->s->in_tensor[m->x]->dtype;
    const bool streamed = cpu_streams(j->dev, j->s, st->y);
    int64_t lo, hi;
    struct bn_apply a = {
        .t = t,
        .width = m->rows.width,
        .mean = j->tables[0].table[0],
        .act = st->act,
    };
    const void *r = NULL;

    if (st->nnorm == 2) {
        r = j->s->in[st->norm[1].x];
        a.residual = BN_RESIDUAL_BN;
        a.r_mean = j->tables[1].table[0];
        a.r_scale = j->tables[1].table[1];
        a.r_shift = j->tables[1].table[2];
    } else if (st->add) {
        r = j->s->in[st->residual];
        a.residual = BN_RESIDUAL_TENSOR;
    }
    rows_part(&m->rows, j->dev, thread, &lo, &hi);
    for (struct piece p; lo < hi; lo += p.n) {
        p = samples_first(&st->samples, &m->rows, lo, hi);
        a.n = p.n;
        a.streamed = streamed && p.first * (int64_t)dtype_size(t) % 64 == 0;
        a.scale = j->scale + p.sample * a.width;
        a.shift = j->shift + p.sample * a.width;
        a.x = cpu_at(j->s->in[m->x], t, p.first);
        a.r = r ? cpu_at(r, t, p.first) : NULL;
        a.y = cpu_out(j->s->out[st->y], t, p.first);
        j->dev->loops->bn_apply(&a);
    }
}

/* Sums over all processes. All threads call it; the first one communicates. */
static void share_sums(const struct job *j, int thread, int64_t lo, int64_t hi)
{
    const struct norm *m = j->st->norm;

    for (int k = 0; k < j->st->nnorm; k++)
        for (int64_t c = lo; c < hi; c++)
            sum_channel(j, k, c, j->shared[k] + 2 * c);
    cpu_barrier();
    for (int k = 0; k < j->st->nnorm && !thread; k++)
        m->group->sum(m->group, j->shared[k], 2 * m->rows.channels);
    cpu_barrier();
}

static void batchnorm_thread(void *arg, int thread)
{
    const struct job *j = arg;
    int64_t lo, hi;

    for (int k = 0; k < j->st->nnorm; k++)
        statistics(j, k, thread);
    cpu_barrier();
    cpu_part(j->st->norm[0].rows.channels, 1, thread, j->dev->threads, &lo, &hi);
    if (j->st->norm[0].group)
        share_sums(j, thread, lo, hi);
    for (int k = 0; k < j->st->nnorm; k++)
        for (int64_t c = lo; c < hi; c++)
            finish_channel(j, k, c);
    cpu_barrier();
    if (j->s->out[j->st->y])
        apply(j, thread);
}

static void batchnorm_run(struct step *s, struct device *dev)
{
    const struct batchnorm_state *st = s->state;
    struct job j = {.st = st, .s = s, .dev = dev};
    const struct rows *r = &st->norm[0].rows;
    char *space = s->workspace;

    for (int k = 0; k < st->nnorm; k++, space += batchnorm_shared(r))
        j.shared[k] = (double *)space;
    for (int k = 0; k < st->nnorm; k++, space += batchnorm_space(r, dev))
        j.tables[k] = batchnorm_tables(space, &st->norm[k].rows, dev);
    j.scale = (float *)space;
    j.shift = j.scale + st->samples.n * r->width;
    cpu_parallel(dev, batchnorm_thread, &j);
}

const struct kernel cpu_batchnorm = {
    .name = "cpu batchnorm",
    .claim = batchnorm_claim,
    .run = batchnorm_run,
    .state_size = sizeof(struct batchnorm_state),
};
