/*
 * The multi-label loss and its gradient on the CPU: samples are spread over threads. Each
 * sample has its own sum, in double; these are added in order.
 */
#include "ops/multilabel_loss.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"

struct job {
    const struct multilabel_rule *rule;
    const float *z;
    struct multilabel_targets t;
    double *partial; /* the loss of each sample */
    float *dz, scale;
};

static const char *multilabel_loss_claim(struct region *r, struct graph *g,
                                         struct node *n, struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_multilabel_loss && n->op != &op_multilabel_loss_grad)
        return "not a multi-label loss";
    if (n->in[MULTILABEL_LOGITS]->dtype != DTYPE_F32)
        return "fp32 only";

    region_claim_node(r, n);
    region_workspace(r, (size_t)n->in[MULTILABEL_LOGITS]->dim[0] * sizeof(double));
    return NULL;
}

static void loss_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;

    for (int64_t i = lo; i < hi; i++) {
        const float *z = j->z + i * j->t.classes;
        double sum = 0;

        for (int64_t k = 0; k < j->t.classes; k++) {
            float y = multilabel_target_of(j->rule, &j->t, i, k);

            if (y >= 0)
                sum += (double)multilabel_element(j->rule, k, z[k], y);
        }
        j->partial[i] = sum;
    }
}

static void grad_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;

    for (int64_t i = lo; i < hi; i++) {
        const float *z = j->z + i * j->t.classes;
        float *dz = j->dz + i * j->t.classes;

        for (int64_t k = 0; k < j->t.classes; k++) {
            float y = multilabel_target_of(j->rule, &j->t, i, k);

            dz[k] = y >= 0 ? multilabel_derivative(j->rule, k, z[k], y) * j->scale : 0;
        }
    }
}

static void multilabel_loss_run(struct step *s, struct device *dev)
{
    const struct multilabel_loss_attrs *a = s->node->attrs;
    bool grad = s->node->op == &op_multilabel_loss_grad;
    int lam = grad ? (int)MULTILABEL_GRAD_LAM : (int)MULTILABEL_LAM;
    const struct tensor *z = s->node->in[MULTILABEL_LOGITS];
    struct job j = {.rule = &a->rule,
                    .z = s->in[MULTILABEL_LOGITS],
                    .t = {.lam = s->node->nin > lam ? s->in[lam] : NULL,
                          .label = s->in[MULTILABEL_LABELS],
                          .target = s->in[MULTILABEL_TARGETS],
                          .samples = z->dim[0],
                          .classes = z->dim[1]},
                    .partial = s->workspace};
    double n = 0, sum = 0;

    for (int64_t i = 0; i < j.t.samples; i++)
        n += multilabel_valid(&j.t, i);
    n *= a->sum_classes ? 1 : (double)j.t.classes;
    if (grad) {
        j.dz = s->out[0];
        j.scale =
            n > 0 ? (float)((double)*(const float *)s->in[MULTILABEL_DLOSS] / n) : 0;
        cpu_for(dev, j.t.samples, 1, grad_part, &j);
        return;
    }
    cpu_for(dev, j.t.samples, 1, loss_part, &j);
    for (int64_t i = 0; i < j.t.samples; i++)
        sum += j.partial[i];
    *(float *)s->out[0] = n > 0 ? (float)(sum / n) : 0;
}

const struct kernel cpu_multilabel_loss = {
    .name = "cpu multilabel_loss",
    .claim = multilabel_loss_claim,
    .run = multilabel_loss_run,
};
