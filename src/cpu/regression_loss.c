/*
 * The regression losses and their gradient on the CPU: samples are spread over threads. Each
 * sample has its own sum, in double; these are added in order. unscale is a loop over rows.
 */
#include "ops/regression_loss.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/unscale.h"

struct job {
    const struct regression_rule *rule;
    const float *z;
    struct regression_targets t;
    double *partial; /* the loss of each sample */
    float *dz, scale;
};

static const char *regression_loss_claim(struct region *r, struct graph *g,
                                         struct node *n, struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_regression_loss && n->op != &op_regression_loss_grad)
        return "not a regression loss";
    if (n->in[REGRESSION_VALUES]->dtype != DTYPE_F32)
        return "fp32 only";

    region_claim_node(r, n);
    region_workspace(r, (size_t)n->in[REGRESSION_VALUES]->dim[0] * sizeof(double));
    return NULL;
}

static void loss_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;

    for (int64_t i = lo; i < hi; i++) {
        const float *z = j->z + i * j->t.targets;
        double sum = 0;

        for (int64_t k = 0; k < j->t.targets && regression_valid(&j->t, i); k++)
            sum +=
                (double)regression_element(j->rule, regression_error(&j->t, i, k, z[k]));
        j->partial[i] = sum;
    }
}

static void grad_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;

    for (int64_t i = lo; i < hi; i++) {
        const float *z = j->z + i * j->t.targets;
        float *dz = j->dz + i * j->t.targets;
        bool valid = regression_valid(&j->t, i);

        for (int64_t k = 0; k < j->t.targets; k++)
            dz[k] = valid
                        ? regression_slope(j->rule, regression_error(&j->t, i, k, z[k])) *
                              j->scale
                        : 0;
    }
}

static void regression_loss_run(struct step *s, struct device *dev)
{
    const struct regression_loss_attrs *a = s->node->attrs;
    bool grad = s->node->op == &op_regression_loss_grad;
    int lam = grad ? (int)REGRESSION_GRAD_LAM : (int)REGRESSION_LAM;
    const struct tensor *z = s->node->in[REGRESSION_VALUES];
    struct job j = {.rule = &a->rule,
                    .z = s->in[REGRESSION_VALUES],
                    .t = {.label = s->in[REGRESSION_LABELS],
                          .target = s->in[REGRESSION_TARGETS],
                          .mean = s->in[REGRESSION_MEAN],
                          .std = s->in[REGRESSION_STD],
                          .lam = s->node->nin > lam ? s->in[lam] : NULL,
                          .samples = z->dim[0],
                          .targets = z->dim[1]},
                    .partial = s->workspace};
    double n = 0, sum = 0;

    for (int64_t i = 0; i < j.t.samples; i++)
        n += regression_valid(&j.t, i);
    n *= (double)j.t.targets;
    if (grad) {
        j.dz = s->out[0];
        j.scale =
            n > 0 ? (float)((double)*(const float *)s->in[REGRESSION_DLOSS] / n) : 0;
        cpu_for(dev, j.t.samples, 1, grad_part, &j);
        return;
    }
    cpu_for(dev, j.t.samples, 1, loss_part, &j);
    for (int64_t i = 0; i < j.t.samples; i++)
        sum += j.partial[i];
    *(float *)s->out[0] = n > 0 ? (float)(sum / n) : 0;
}

const struct kernel cpu_regression_loss = {
    .name = "cpu regression_loss",
    .claim = regression_loss_claim,
    .run = regression_loss_run,
};

static const char *unscale_claim(struct region *r, struct graph *g, struct node *n,
                                 struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_unscale)
        return "not an unscale";
    if (n->in[UNSCALE_VALUES]->dtype != DTYPE_F32)
        return "fp32 only";

    region_claim_node(r, n);
    return NULL;
}

static void unscale_run(struct step *s, struct device *dev)
{
    const float *z = s->in[UNSCALE_VALUES], *mean = s->in[UNSCALE_MEAN];
    const float *std = s->in[UNSCALE_STD];
    int64_t targets = s->node->out[0]->dim[1];
    float *y = s->out[0];

    (void)dev;
    for (int64_t i = 0; i < s->node->out[0]->dim[0]; i++)
        for (int64_t k = 0; k < targets; k++)
            y[i * targets + k] = fmaf(z[i * targets + k], std[k], mean[k]);
}

const struct kernel cpu_unscale = {
    .name = "cpu unscale",
    .claim = unscale_claim,
    .run = unscale_run,
};
