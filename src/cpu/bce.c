/*
 * Binary cross entropy and its gradient on the CPU: samples are spread over threads. Each
 * sample has its own sum, in double; these are added in order.
 */
#include "ops/bce.h"

#include "base/error.h"
#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/bce_formula.h"

struct bce_state {
    int64_t samples, classes;
    struct bce_rule rule;
    int lam; /* index of a read, or -1 */
    bool sum_classes;
};

struct job {
    const struct bce_state *st;
    const float *logits, *lam;
    const int32_t *label;
    double *partial; /* the loss of each sample */
    float *dz;
    float scale;
};

static const char *bce_claim(struct region *r, struct graph *g, struct node *n,
                             struct device *dev)
{
    struct bce_state *st = region_state(r);
    const struct bce_attrs *a = n->attrs;
    int lam = n->op == &op_bce ? (int)LABEL_LOSS_LAM : (int)LABEL_LOSS_GRAD_LAM;

    (void)g, (void)dev;
    if (n->op != &op_bce && n->op != &op_bce_grad)
        return "not a binary cross entropy";
    if (n->in[LABEL_LOSS_LOGITS]->dtype != DTYPE_F32)
        return "fp32 only";

    st->samples = n->in[LABEL_LOSS_LOGITS]->dim[0];
    st->classes = n->in[LABEL_LOSS_LOGITS]->dim[1];
    st->rule = (struct bce_rule){
        .on_value = (float)(1 - (double)a->smoothing),
        .off_value = (float)((double)a->smoothing / (double)st->classes),
        .threshold = a->threshold,
        .has_threshold = a->has_threshold,
    };
    st->sum_classes = a->sum_classes;
    st->lam = n->nin > lam ? lam : -1;
    region_claim_node(r, n);
    region_workspace(r, (size_t)st->samples * sizeof(double));
    return NULL;
}

static int32_t partner_of(const struct job *j, int64_t i)
{
    return j->label[j->lam ? j->st->samples - 1 - i : i];
}

static float lam_of(const struct job *j, int64_t i)
{
    return j->lam ? j->lam[i] : 1;
}

static bool valid(const struct job *j, int64_t i)
{
    if (j->label[i] >= j->st->classes || j->label[i] < -1)
        BUG("label %d of %lld classes", j->label[i], (long long)j->st->classes);
    return j->label[i] >= 0 && partner_of(j, i) >= 0;
}

static void loss_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    int64_t classes = j->st->classes;

    for (int64_t i = lo; i < hi; i++) {
        const float *z = j->logits + i * classes, lam = lam_of(j, i);
        int32_t label = j->label[i], partner = partner_of(j, i);
        double sum = 0;

        for (int64_t k = 0; k < classes && valid(j, i); k++)
            sum += (double)bce_element(z[k],
                                       bce_target(&j->st->rule, k, label, partner, lam));
        j->partial[i] = sum;
    }
}

static void grad_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    int64_t classes = j->st->classes;

    for (int64_t i = lo; i < hi; i++) {
        const float *z = j->logits + i * classes, lam = lam_of(j, i);
        float *dz = j->dz + i * classes;
        int32_t label = j->label[i], partner = partner_of(j, i);
        bool counts = valid(j, i);

        for (int64_t k = 0; k < classes; k++) {
            float t = bce_target(&j->st->rule, k, label, partner, lam);

            dz[k] = counts ? bce_derivative(z[k], t) * j->scale : 0;
        }
    }
}

static void bce_run(struct step *s, struct device *dev)
{
    const struct bce_state *st = s->state;
    struct job j = {.st = st,
                    .logits = s->in[LABEL_LOSS_LOGITS],
                    .label = s->in[LABEL_LOSS_LABELS],
                    .lam = st->lam >= 0 ? s->in[st->lam] : NULL,
                    .partial = s->workspace};
    double n = 0, sum = 0;

    for (int64_t i = 0; i < st->samples; i++)
        n += valid(&j, i);
    if (!st->sum_classes)
        n *= (double)st->classes;
    if (s->node->op == &op_bce_grad) {
        j.dz = s->out[0];
        j.scale =
            n > 0 ? (float)((double)*(const float *)s->in[LABEL_LOSS_GRAD_DLOSS] / n) : 0;
        cpu_for(dev, st->samples, 1, grad_part, &j);
        return;
    }
    cpu_for(dev, st->samples, 1, loss_part, &j);
    for (int64_t i = 0; i < st->samples; i++)
        sum += j.partial[i];
    *(float *)s->out[0] = n > 0 ? (float)(sum / n) : 0;
}

const struct kernel cpu_bce = {
    .name = "cpu bce",
    .claim = bce_claim,
    .run = bce_run,
    .state_size = sizeof(struct bce_state),
};
