/*
 * The loss, its gradient, and the metrics on the CPU: samples are spread over threads.
 * Exponentials and sums are double, as in the reference: there are only a few thousand
 * values.
 */
#include "ops/cross_entropy.h"

#include <math.h>

#include "base/error.h"
#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"

struct loss_state {
    int64_t samples, classes;
    double smoothing;
    int lam;                         /* index of a read, or -1 */
    const struct class_terms *terms; /* NULL: no class weights */
};

struct job {
    const struct loss_state *st;
    const float *logits, *lam;
    const int32_t *label;
    double *partial; /* the loss of each sample */
    float *dz;
    double scale;
};

static const char *cross_entropy_claim(struct region *r, struct graph *g, struct node *n,
                                       struct device *dev)
{
    struct loss_state *st = region_state(r);
    int lam;

    (void)g, (void)dev;
    if (n->op != &op_cross_entropy && n->op != &op_cross_entropy_grad)
        return "not a cross entropy";
    lam = n->op == &op_cross_entropy ? (int)LABEL_LOSS_LAM : (int)LABEL_LOSS_GRAD_LAM;
    if (n->in[LABEL_LOSS_LOGITS]->dtype != DTYPE_F32)
        return "fp32 only";

    st->samples = n->in[LABEL_LOSS_LOGITS]->dim[0];
    st->classes = n->in[LABEL_LOSS_LOGITS]->dim[1];
    st->smoothing = (double)((const struct cross_entropy_attrs *)n->attrs)->smoothing;
    st->lam = n->nin > lam ? lam : -1;
    st->terms = ((const struct cross_entropy_attrs *)n->attrs)->weighted
                    ? &((const struct cross_entropy_attrs *)n->attrs)->terms
                    : NULL;
    region_claim_node(r, n);
    region_workspace(r, (size_t)st->samples * sizeof(double));
    return NULL;
}

static bool valid(const struct job *j, int64_t i)
{
    int32_t target = j->label[i], partner = j->label[j->st->samples - 1 - i];

    if (target >= j->st->classes || target < -1)
        BUG("label %d of %lld classes", target, (long long)j->st->classes);
    return target >= 0 && (!j->lam || partner >= 0);
}

static double log_sum_exp(const float *z, int64_t n)
{
    double top = -INFINITY, sum = 0;

    for (int64_t k = 0; k < n; k++)
        if ((double)z[k] > top)
            top = (double)z[k];
    for (int64_t k = 0; k < n; k++)
        sum += exp((double)z[k] - top);
    return top + log(sum);
}

/* Target of the label on top of the smoothing: lam and 1 - lam of this. */
static double smoothed_on(const struct job *j)
{
    return 1 - j->st->smoothing;
}

static double lam_of(const struct job *j, int64_t i)
{
    return j->lam ? (double)j->lam[i] : 1;
}

static double weight_of(const struct job *j, int64_t k)
{
    return j->st->terms ? (double)j->st->terms->weight[k] : 1;
}

/* Returns a row of logits plus biases, in `room` if there are biases. */
static const float *row_of(const struct job *j, int64_t i,
                           float room[CROSS_ENTROPY_WEIGHTS])
{
    const float *z = j->logits + i * j->st->classes;

    if (!j->st->terms)
        return z;
    for (int64_t k = 0; k < j->st->classes; k++)
        room[k] = z[k] + j->st->terms->bias[k];
    return room;
}

static void loss_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    int64_t classes = j->st->classes;
    double off = j->st->smoothing / (double)classes;
    float room[CROSS_ENTROPY_WEIGHTS];

    for (int64_t i = lo; i < hi; i++) {
        const float *z = row_of(j, i, room);
        double lse = log_sum_exp(z, classes), sum = 0;
        int32_t target = j->label[i], partner = j->label[j->st->samples - 1 - i];

        j->partial[i] = 0;
        if (!valid(j, i))
            continue;
        for (int64_t k = 0; k < classes && off > 0; k++)
            sum += weight_of(j, k) * (lse - (double)z[k]);
        j->partial[i] = off * sum + lam_of(j, i) * smoothed_on(j) * weight_of(j, target) *
                                        (lse - (double)z[target]);
        if (j->lam)
            j->partial[i] += (1 - lam_of(j, i)) * smoothed_on(j) * weight_of(j, partner) *
                             (lse - (double)z[partner]);
    }
}

/* The sum of the weighted targets of a valid sample. */
static double target_sum(const struct job *j, int64_t i)
{
    double off = j->st->smoothing / (double)j->st->classes, sum = 0;

    if (!j->st->terms)
        return 1;
    for (int64_t k = 0; k < j->st->classes; k++)
        sum += off * weight_of(j, k);
    sum += lam_of(j, i) * smoothed_on(j) * weight_of(j, j->label[i]);
    if (j->lam)
        sum += (1 - lam_of(j, i)) * smoothed_on(j) *
               weight_of(j, j->label[j->st->samples - 1 - i]);
    return sum;
}

static void grad_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    int64_t classes = j->st->classes;
    double off = j->st->smoothing / (double)classes;
    float room[CROSS_ENTROPY_WEIGHTS];

    for (int64_t i = lo; i < hi; i++) {
        const float *z = row_of(j, i, room);
        float *dz = j->dz + i * classes;
        bool counts = valid(j, i);
        double lse = log_sum_exp(z, classes), all = counts ? target_sum(j, i) : 0;
        int32_t label = j->label[i], partner = j->label[j->st->samples - 1 - i];

        for (int64_t k = 0; k < classes; k++) {
            double target = off;

            if (k == label)
                target += lam_of(j, i) * smoothed_on(j);
            if (j->lam && k == partner)
                target += (1 - lam_of(j, i)) * smoothed_on(j);
            dz[k] =
                counts
                    ? (float)((exp((double)z[k] - lse) * all - weight_of(j, k) * target) *
                              j->scale)
                    : 0;
        }
    }
}

static void cross_entropy_run(struct step *s, struct device *dev)
{
    const struct loss_state *st = s->state;
    bool grad = s->node->op == &op_cross_entropy_grad;
    struct job j = {.st = st,
                    .logits = s->in[LABEL_LOSS_LOGITS],
                    .label = s->in[LABEL_LOSS_LABELS],
                    .lam = st->lam >= 0 ? s->in[st->lam] : NULL,
                    .partial = s->workspace};
    double n = 0, sum = 0;

    for (int64_t i = 0; i < st->samples; i++)
        n += valid(&j, i) ? weight_of(&j, j.label[i]) : 0;
    if (grad) {
        j.dz = s->out[0];
        j.scale = n > 0 ? (double)*(const float *)s->in[LABEL_LOSS_GRAD_DLOSS] / n : 0;
        cpu_for(dev, st->samples, 1, grad_part, &j);
        return;
    }
    cpu_for(dev, st->samples, 1, loss_part, &j);
    for (int64_t i = 0; i < st->samples; i++)
        sum += j.partial[i];
    *(float *)s->out[0] = n > 0 ? (float)(sum / n) : 0;
}

const struct kernel cpu_cross_entropy = {
    .name = "cpu cross_entropy",
    .claim = cross_entropy_claim,
    .run = cross_entropy_run,
    .state_size = sizeof(struct loss_state),
};
