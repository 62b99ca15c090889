/*
 * Batch norm with fixed statistics [+ activation] if no convolution could fold it, and its data
 * gradient: both are a factor and an offset per channel.
 */
#include "cpu/batchnorm.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/activation.h"
#include "ops/batchnorm.h"
#include "ops/batchnorm_formula.h"

struct inference_state {
    struct rows rows;
    float eps;
    bool grad;
    struct loop_activation act;
};

struct job {
    const struct inference_state *st;
    struct step *s;
    const struct device *dev;
    float *mean, *scale, *shift;
};

static const char *inference_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *dev)
{
    struct inference_state *st = region_state(r);
    struct node *act = NULL, *bn = n;
    const struct tensor *x;

    if (activation_of(n)) {
        act = n;
        bn = last_producer(g, n->in[ACTIVATION_X], n, NULL);
    }
    if (!bn || !node_free(bn) ||
        (bn->op != &op_batchnorm_inference &&
         (act || bn->op != &op_batchnorm_inference_data_grad)))
        return "not a batch norm with fixed statistics";
    st->grad = bn->op == &op_batchnorm_inference_data_grad;
    x = bn->in[st->grad ? BATCHNORM_INFERENCE_DATA_GRAD_DY : BATCHNORM_X];
    if (!cpu_dtype(x) || x->dtype != n->out[0]->dtype)
        return "fp32 and bf16 only, and one of them for all";

    st->rows = rows_of(x, dev);
    st->eps = ((const struct batchnorm_attrs *)bn->attrs)->eps;
    st->act = loop_activation(act);
    region_claim(r, bn);
    if (act)
        region_claim(r, act);
    for (int i = 0; i < bn->nin; i++)
        (void)region_read(r, bn->in[i]);
    (void)region_write(r, n->out[0]);
    region_inplace(r, 0, st->grad ? BATCHNORM_INFERENCE_DATA_GRAD_DY : BATCHNORM_X);
    region_workspace(r, 3 * (size_t)st->rows.width * sizeof(float));
    return NULL;
}

static void fill_tables(const struct job *j)
{
    const struct rows *r = &j->st->rows;
    bool grad = j->st->grad;
    const float *weight =
        j->s->in[grad ? BATCHNORM_INFERENCE_DATA_GRAD_WEIGHT : BATCHNORM_WEIGHT];
    const float *var =
        j->s->in[grad ? BATCHNORM_INFERENCE_DATA_GRAD_VAR : BATCHNORM_INFERENCE_VAR];
    const float *mean = grad ? NULL : j->s->in[BATCHNORM_INFERENCE_MEAN];
    const float *bias = grad ? NULL : j->s->in[BATCHNORM_BIAS];

    for (int64_t c = 0; c < r->channels; c++) {
        rows_repeat(r, j->mean, c, mean ? mean[c] : 0);
        rows_repeat(r, j->scale, c,
                    batchnorm_scale(weight[c], batchnorm_rstd(var[c], j->st->eps)));
        rows_repeat(r, j->shift, c, bias ? bias[c] : 0);
    }
}

static void inference_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    int x = j->st->grad ? BATCHNORM_INFERENCE_DATA_GRAD_DY : BATCHNORM_X;
    enum dtype t = j->s->in_tensor[x]->dtype;

    j->dev->loops->bn_apply(&(struct bn_apply){
        .t = t,
        .n = hi - lo,
        .width = j->st->rows.width,
        .x = cpu_at(j->s->in[x], t, lo),
        .y = cpu_out(j->s->out[0], t, lo),
        .mean = j->mean,
        .scale = j->scale,
        .shift = j->shift,
        .act = j->st->act,
        .streamed = cpu_streams(j->dev, j->s, 0),
    });
}

static void inference_run(struct step *s, struct device *dev)
{
    const struct inference_state *st = s->state;
    float *table = s->workspace;
    struct job j = {
        st, s, dev, table, table + st->rows.width, table + 2 * st->rows.width};

    fill_tables(&j);
    cpu_for(dev, st->rows.n, st->rows.width, inference_part, &j);
}

const struct kernel cpu_batchnorm_inference = {
    .name = "cpu batchnorm_inference",
    .claim = inference_claim,
    .run = inference_run,
    .state_size = sizeof(struct inference_state),
};
