#include "ops/bce.h"

#include <math.h>

#include "graph/kernel.h"

static const struct attr bce_attr_table[] = {
    ATTR_FLOAT(struct bce_attrs, smoothing, 0, 1, "label smoothing"),
    ATTR_FLOAT(struct bce_attrs, threshold, 0, 1, "targets above it become 1, others 0"),
    ATTR_INT(struct bce_attrs, has_threshold, 0, 1, "with a threshold"),
    ATTR_INT(struct bce_attrs, sum_classes, 0, 1, "sum over classes instead of mean"),
    {0},
};

struct tensor *bce_(struct builder *b, struct tensor *logits, struct tensor *labels,
                    struct tensor *lam, const struct bce_attrs *a)
{
    return label_loss(b, &op_bce, a->layer, a, logits, labels, lam);
}

static void bce_grad(struct builder *b, const struct node *n)
{
    label_loss_grad(b, n, &op_bce_grad);
}

/* exp, log, maximum, times the target, and their sum */
static int64_t bce_flops(const struct node *n)
{
    return 6 * tensor_len(n->in[LABEL_LOSS_LOGITS]);
}

static struct label_targets targets_of(const struct step *s, int lam)
{
    const struct bce_attrs *a = s->node->attrs;

    return label_targets_of(s, lam, (double)a->smoothing);
}

static double target(const struct bce_attrs *a, const struct label_targets *t, int64_t i,
                     int64_t k)
{
    double v = label_target(t, i, k);

    return a->has_threshold ? v > (double)a->threshold : v;
}

/* Returns the divisor of the loss; 0 if no sample is valid. */
static double terms(const struct bce_attrs *a, const struct label_targets *t)
{
    return (double)label_count_valid(t) * (a->sum_classes ? 1 : (double)t->classes);
}

static void bce_ref(const struct step *s)
{
    const struct bce_attrs *a = s->node->attrs;
    struct label_targets t = targets_of(s, LABEL_LOSS_LAM);
    double n = terms(a, &t), loss = 0;

    for (int64_t i = 0; i < t.samples; i++) {
        const float *z = (const float *)s->in[LABEL_LOSS_LOGITS] + i * t.classes;

        for (int64_t k = 0; k < t.classes && label_valid(&t, i); k++) {
            double v = z[k], positive = v > 0 ? v : v < 0 ? 0 : v; /* NaN stays */

            loss += positive - v * target(a, &t, i, k) + log1p(exp(-fabs(v)));
        }
    }
    *(float *)s->out[0] = n > 0 ? (float)(loss / n) : 0;
}

const struct op op_bce = {
    .name = "bce",
    .attrs = bce_attr_table,
    .attrs_size = sizeof(struct bce_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = label_loss_shape,
    .grad = bce_grad,
    .flops = bce_flops,
    .ref = bce_ref,
};

static void bce_grad_ref(const struct step *s)
{
    const struct bce_attrs *a = s->node->attrs;
    struct label_targets t = targets_of(s, LABEL_LOSS_GRAD_LAM);
    double n = terms(a, &t);
    double scale = n > 0 ? *(const float *)s->in[LABEL_LOSS_GRAD_DLOSS] / n : 0;

    for (int64_t i = 0; i < t.samples; i++) {
        const float *z = (const float *)s->in[LABEL_LOSS_GRAD_LOGITS] + i * t.classes;
        float *dz = (float *)s->out[0] + i * t.classes;
        bool counts = label_valid(&t, i);

        for (int64_t k = 0; k < t.classes; k++) {
            double sigmoid = 1 / (1 + exp(-(double)z[k]));

            dz[k] = counts ? (float)((sigmoid - target(a, &t, i, k)) * scale) : 0;
        }
    }
}

const struct op op_bce_grad = {
    .name = "bce_grad",
    .attrs = bce_attr_table,
    .attrs_size = sizeof(struct bce_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = label_loss_grad_shape,
    .flops = bce_flops,
    .ref = bce_grad_ref,
};
