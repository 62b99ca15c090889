#include "ops/cross_entropy.h"

#include <math.h>

#include "graph/kernel.h"
#include "ops/log_sum_exp.h"

static const struct attr cross_entropy_attr_table[] = {
    ATTR_FLOAT(struct cross_entropy_attrs, smoothing, 0, 1, "label smoothing"),
    ATTR_INT(struct cross_entropy_attrs, weighted, 0, 1, "classes have weights"),
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

static const char *classes_fit(const struct node *n)
{
    const struct cross_entropy_attrs *a = n->attrs;

    return a->weighted && n->in[LABEL_LOSS_LOGITS]->dim[1] > CROSS_ENTROPY_WEIGHTS
               ? "too many classes to have weights"
               : NULL;
}

static const char *cross_entropy_shape(struct node *n)
{
    const char *wrong = label_loss_shape(n);

    return wrong ? wrong : classes_fit(n);
}

static const char *cross_entropy_grad_shape(struct node *n)
{
    const char *wrong = label_loss_grad_shape(n);

    return wrong ? wrong : classes_fit(n);
}

/* Returns a row of logits plus biases, in `room` if there are biases. */
static const float *biased(const struct cross_entropy_attrs *a, const float *z,
                           int64_t classes, float room[CROSS_ENTROPY_WEIGHTS])
{
    for (int64_t k = 0; a->weighted && k < classes; k++)
        room[k] = z[k] + a->terms.bias[k];
    return a->weighted ? room : z;
}

/* The divisor of the loss: the weights of the valid labels. */
static double total_weight(const struct cross_entropy_attrs *a,
                           const struct label_targets *t)
{
    double sum = 0;

    for (int64_t i = 0; i < t->samples; i++)
        if (label_valid(t, i))
            sum += (double)class_weight_of(&a->terms, a->weighted, t->label[i]);
    return sum;
}

static double weighted_target(const struct cross_entropy_attrs *a,
                              const struct label_targets *t, int64_t i, int64_t k)
{
    return (double)class_weight_of(&a->terms, a->weighted, k) * label_target(t, i, k);
}

static void cross_entropy_ref(const struct step *s)
{
    const struct cross_entropy_attrs *a = s->node->attrs;
    struct label_targets t = targets_of(s, LABEL_LOSS_LAM);
    double n = total_weight(a, &t), loss = 0;
    float room[CROSS_ENTROPY_WEIGHTS];

    for (int64_t i = 0; i < t.samples; i++) {
        const float *z = biased(
            a, (const float *)s->in[LABEL_LOSS_LOGITS] + i * t.classes, t.classes, room);
        double lse = log_sum_exp(z, t.classes);

        for (int64_t k = 0; k < t.classes && label_valid(&t, i); k++)
            loss += weighted_target(a, &t, i, k) * (lse - (double)z[k]);
    }
    *(float *)s->out[0] = n > 0 ? (float)(loss / n) : 0;
}

const struct op op_cross_entropy = {
    .name = "cross_entropy",
    .attrs = cross_entropy_attr_table,
    .attrs_size = sizeof(struct cross_entropy_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = cross_entropy_shape,
    .grad = cross_entropy_grad,
    .flops = cross_entropy_flops,
    .ref = cross_entropy_ref,
};

/* dz = (softmax(z') sum_j w_j target_j - w target) dloss / total weight */
static void cross_entropy_grad_ref(const struct step *s)
{
    const struct cross_entropy_attrs *a = s->node->attrs;
    struct label_targets t = targets_of(s, LABEL_LOSS_GRAD_LAM);
    double n = total_weight(a, &t);
    double scale = n > 0 ? (double)*(const float *)s->in[LABEL_LOSS_GRAD_DLOSS] / n : 0;
    float room[CROSS_ENTROPY_WEIGHTS];

    for (int64_t i = 0; i < t.samples; i++) {
        const float *z =
            biased(a, (const float *)s->in[LABEL_LOSS_GRAD_LOGITS] + i * t.classes,
                   t.classes, room);
        float *dz = (float *)s->out[0] + i * t.classes;
        double lse = log_sum_exp(z, t.classes), all = a->weighted ? 0 : 1;
        bool counts = label_valid(&t, i);

        for (int64_t k = 0; counts && a->weighted && k < t.classes; k++)
            all += weighted_target(a, &t, i, k);
        for (int64_t k = 0; k < t.classes; k++)
            dz[k] = counts ? (float)((exp((double)z[k] - lse) * all -
                                      weighted_target(a, &t, i, k)) *
                                     scale)
                           : 0;
    }
}

const struct op op_cross_entropy_grad = {
    .name = "cross_entropy_grad",
    .attrs = cross_entropy_attr_table,
    .attrs_size = sizeof(struct cross_entropy_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = cross_entropy_grad_shape,
    .flops = cross_entropy_flops,
    .ref = cross_entropy_grad_ref,
};
