#include "ops/cross_entropy.h"

#include <math.h>

#include "graph/kernel.h"
#include "ops/log_sum_exp.h"

static const struct attr cross_entropy_attr_table[] = {
    ATTR_FLOAT(struct cross_entropy_attrs, smoothing, 0, 1, "label smoothing"),
    {0},
};

struct tensor *cross_entropy_(struct builder *b, struct tensor *logits,
                              struct tensor *labels, struct tensor *lam,
                              const struct cross_entropy_attrs *a)
{
    return label_loss(b, &op_cross_entropy, a->layer, a, logits, labels, lam);
}

static void cross_entropy_grad(struct builder *b, const struct node *n)
{
    label_loss_grad(b, n, &op_cross_entropy_grad);
}

/* max, subtract, exp, sum, product with the target */
static int64_t cross_entropy_flops(const struct node *n)
{
    return 5 * tensor_len(n->in[LABEL_LOSS_LOGITS]);
}

static struct label_targets targets_of(const struct step *s, int lam)
{
    const struct cross_entropy_attrs *a = s->node->attrs;

    return label_targets_of(s, lam, (double)a->smoothing);
}

static void cross_entropy_ref(const struct step *s)
{
    struct label_targets t = targets_of(s, LABEL_LOSS_LAM);
    int64_t n = label_count_valid(&t);
    double loss = 0;

    for (int64_t i = 0; i < t.samples; i++) {
        const float *z = (const float *)s->in[LABEL_LOSS_LOGITS] + i * t.classes;
        double lse = log_sum_exp(z, t.classes);

        for (int64_t k = 0; k < t.classes && label_valid(&t, i); k++)
            loss += label_target(&t, i, k) * (lse - z[k]);
    }
    *(float *)s->out[0] = n ? (float)(loss / (double)n) : 0;
}

const struct op op_cross_entropy = {
    .name = "cross_entropy",
    .attrs = cross_entropy_attr_table,
    .attrs_size = sizeof(struct cross_entropy_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = label_loss_shape,
    .grad = cross_entropy_grad,
    .flops = cross_entropy_flops,
    .ref = cross_entropy_ref,
};

/* dz = (softmax(z) - target) dloss / valid */
static void cross_entropy_grad_ref(const struct step *s)
{
    struct label_targets t = targets_of(s, LABEL_LOSS_GRAD_LAM);
    int64_t n = label_count_valid(&t);
    double scale = n ? *(const float *)s->in[LABEL_LOSS_GRAD_DLOSS] / (double)n : 0;

    for (int64_t i = 0; i < t.samples; i++) {
        const float *z = (const float *)s->in[LABEL_LOSS_GRAD_LOGITS] + i * t.classes;
        float *dz = (float *)s->out[0] + i * t.classes;
        double lse = log_sum_exp(z, t.classes);
        bool counts = label_valid(&t, i);

        for (int64_t k = 0; k < t.classes; k++)
            dz[k] =
                counts ? (float)((exp(z[k] - lse) - label_target(&t, i, k)) * scale) : 0;
    }
}

const struct op op_cross_entropy_grad = {
    .name = "cross_entropy_grad",
    .attrs = cross_entropy_attr_table,
    .attrs_size = sizeof(struct cross_entropy_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = label_loss_grad_shape,
    .flops = cross_entropy_flops,
    .ref = cross_entropy_grad_ref,
};
