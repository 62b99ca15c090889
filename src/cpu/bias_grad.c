/*
 * Gradients of biases, of batch norms with fixed statistics, and of layer_scale: sums
 * over positions, of dy or of dy times x. If dy is the first channels of a wider tensor
 * and the others cost nothing (down.h), the wider tensor is summed.
 */
#include "ops/bias_grad.h"

#include "cpu/batchnorm.h"
#include "cpu/down.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/batchnorm.h"
#include "ops/batchnorm_formula.h"
#include "ops/layer_scale.h"

_Static_assert((int)BATCHNORM_INFERENCE_WEIGHT_GRAD_X == 0 &&
                   (int)LAYER_SCALE_GAMMA_GRAD_X == 0,
               "x comes first, and dy last");

struct bias_grad_state {
    struct rows rows;
};

struct job {
    const struct rows *rows;
    struct step *s;
    const struct device *dev;
    struct batchnorm_tables b;
    bool dot;          /* sum products with x - mean, too */
    const float *mean; /* NULL: 0 */
};

static const char *bias_grad_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *dev)
{
    struct bias_grad_state *st = region_state(r);
    const struct tensor *dy;
    struct tensor *joined;

    (void)g;
    if (n->op != &op_bias_grad && n->op != &op_batchnorm_inference_weight_grad &&
        n->op != &op_layer_scale_gamma_grad)
        return "no gradient of a bias, of a batch norm with fixed statistics, of gamma";
    dy = n->in[n->nin - 1];
    if (!cpu_dtype(dy) || n->in[0]->dtype != dy->dtype)
        return "fp32 and bf16 only, and one of them for all";

    joined = n->op == &op_bias_grad ? down_joined(dy) : NULL;
    st->rows = rows_of(joined ? joined : dy, dev);
    region_claim(r, n);
    if (joined)
        region_duplicate(r, dy->producer);
    for (int i = 0; i < n->nin; i++)
        (void)region_read(r, joined ? joined : n->in[i]);
    for (int i = 0; i < n->nout; i++)
        (void)region_write(r, n->out[i]);
    region_workspace(r, batchnorm_space(&st->rows, dev));
    return NULL;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): written through a.dot */
static void sum_chunk(const struct job *j, int64_t i, int64_t n, float *sum, float *dot)
{
    struct step *s = j->s;
    enum dtype t = s->in_tensor[0]->dtype;
    struct bn_grad a = {.t = t,
                        .n = n,
                        .width = j->rows->width,
                        .sum = sum,
                        .dot = dot,
                        .uncached = cpu_uncached(j->dev, s->in_tensor[0])};

    if (!j->dot) {
        j->dev->loops->column_sums(t, cpu_at(s->in[BIAS_GRAD_DY], t, i), n,
                                   j->rows->width, sum, a.uncached);
        return;
    }
    a.x = cpu_at(s->in[0], t, i);
    a.g = cpu_at(s->in[s->nin - 1], t, i);
    a.mean = j->b.table[0];
    j->dev->loops->bn_grad_sums(&a);
}

static void finish_channel(const struct job *j, int64_t c)
{
    struct step *s = j->s;
    double sum = rows_total(j->rows, j->b.total, j->dev->threads, c);
    double dot = rows_total(j->rows, j->b.total2, j->dev->threads, c);
    float *dweight, *dbias, *var;
    float eps;

    if (s->node->op != &op_batchnorm_inference_weight_grad) {
        ((float *)s->out[0])[c] = (float)(j->dot ? dot : sum);
        return;
    }
    dweight = s->out[BATCHNORM_INFERENCE_DWEIGHT];
    dbias = s->out[BATCHNORM_INFERENCE_DBIAS];
    var = s->in[BATCHNORM_INFERENCE_WEIGHT_GRAD_VAR];
    eps = ((const struct batchnorm_attrs *)s->node->attrs)->eps;
    if (dweight)
        dweight[c] = (float)(dot * (double)batchnorm_rstd(var[c], eps));
    if (dbias)
        dbias[c] = (float)sum;
}

static void bias_grad_thread(void *arg, int thread)
{
    const struct job *j = arg;
    const struct rows *r = j->rows;
    int64_t lo, hi, first, end, begin = thread * r->width;

    cpu_part(r->channels, 1, thread, j->dev->threads, &first, &end);
    for (int64_t c = first; c < end && j->dot; c++)
        rows_repeat(r, j->b.table[0], c, j->mean ? j->mean[c] : 0);
    batchnorm_tables_zero(&j->b, r, thread);
    cpu_barrier();
    rows_part(r, j->dev, thread, &lo, &hi);
    for (int64_t i = lo; i < hi; i += r->chunk) {
        sum_chunk(j, i, hi - i < r->chunk ? hi - i : r->chunk, j->b.sum + begin,
                  j->b.sum2 + begin);
        j->dev->loops->bn_merge(r->width, j->b.sum + begin, j->b.total + begin);
        j->dev->loops->bn_merge(r->width, j->b.sum2 + begin, j->b.total2 + begin);
    }
    cpu_barrier();
    for (int64_t c = first; c < end; c++)
        /* skip the channels of another result */
        if (j->dot || c < tensor_len(j->s->out_tensor[0]))
            finish_channel(j, c);
}

static void bias_grad_run(struct step *s, struct device *dev)
{
    const struct bias_grad_state *st = s->state;
    struct job j = {.rows = &st->rows,
                    .s = s,
                    .dev = dev,
                    .b = batchnorm_tables(s->workspace, &st->rows, dev),
                    .dot = s->node->op != &op_bias_grad};

    if (s->node->op == &op_batchnorm_inference_weight_grad)
        j.mean = s->in[BATCHNORM_INFERENCE_WEIGHT_GRAD_MEAN];

    cpu_parallel(dev, bias_grad_thread, &j);
}

const struct kernel cpu_bias_grad = {
    .name = "cpu bias_grad",
    .claim = bias_grad_claim,
    .run = bias_grad_run,
    .state_size = sizeof(struct bias_grad_state),
};
