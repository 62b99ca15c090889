#include "ops/dice.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "graph/kernel.h"
#include "ops/log_sum_exp.h"

static const struct attr dice_attr_table[] = {
    ATTR_FLOAT(struct dice_attrs, smooth, 1e-12, 1e12, "added above and below"),
    ATTR_INT(struct dice_attrs, squared, 0, 1, "squares of probabilities below"),
    ATTR_INT(struct dice_attrs, ignore, -1, 255, "the label of pixels left out"),
    {0},
};

struct tensor *dice_(struct builder *b, struct tensor *logits, struct tensor *labels,
                     const struct dice_attrs *a)
{
    struct tensor *in[] = {logits, labels};

    return node(b, &op_dice, a->layer, a, in, 2);
}

static const char *dice_shape(struct node *n)
{
    return row_loss_shape(n, 2 * row_loss_classes(n->in[ROW_LOSS_LOGITS]));
}

static void dice_grad(struct builder *b, const struct node *n)
{
    row_loss_grad(b, n, &op_dice_grad, NULL);
}

/* max, subtract, exp, sum, divide, add to the class */
static int64_t dice_flops(const struct node *n)
{
    return 7 * tensor_len(n->in[ROW_LOSS_LOGITS]);
}

static void add_row(const struct dice_attrs *a, const float *z, int64_t classes,
                    int label, struct dice_class *c)
{
    double lse = log_sum_exp(z, classes);

    for (int64_t k = 0; k < classes; k++) {
        double p = exp(z[k] - lse);

        c[k].overlap += label == k ? p : 0;
        c[k].mass += a->squared ? p * p : p;
        c[k].labels += label == k;
    }
}

static void dice_ref(const struct step *s)
{
    const struct tensor *t = s->node->in[ROW_LOSS_LOGITS];
    const struct dice_attrs *a = s->node->attrs;
    struct row_labels labels =
        row_labels_of(s->node->in[ROW_LOSS_LABELS], s->in[ROW_LOSS_LABELS], a->ignore);
    int64_t classes = row_loss_classes(t), rows = row_loss_rows(t);
    struct dice_class *c = xcalloc((size_t)classes, sizeof(*c));
    float *sums = s->out[ROW_LOSS_SUMS];
    double loss = 0;

    for (int64_t i = 0; i < rows; i++) {
        int label = row_label_checked(&labels, i, classes);

        if (label >= 0)
            add_row(a, (const float *)s->in[ROW_LOSS_LOGITS] + i * classes, classes,
                    label, c);
    }
    for (int64_t k = 0; k < classes; k++) {
        double on_label, always;

        loss += dice_end(&c[k], (double)a->smooth, a->squared, (double)classes, &on_label,
                         &always);
        sums[k] = (float)on_label;
        sums[classes + k] = (float)always;
    }
    *(float *)s->out[ROW_LOSS_LOSS] = (float)loss;
    free(c);
}

const struct op op_dice = {
    .name = "dice",
    .attrs = dice_attr_table,
    .attrs_size = sizeof(struct dice_attrs),
    .nout = 2,
    .precision = PRECISION_F32,
    .shape = dice_shape,
    .grad = dice_grad,
    .flops = dice_flops,
    .ref = dice_ref,
};

/* Returns the derivative of the loss with respect to p_k. */
static double slope(const struct dice_attrs *a, const float *sums, int64_t classes,
                    int64_t k, int label, double p)
{
    return (label == k ? (double)sums[k] : 0) +
           (double)sums[classes + k] * (a->squared ? p : 1);
}

static void dice_grad_ref(const struct step *s)
{
    const struct tensor *t = s->node->in[ROW_LOSS_GRAD_LOGITS];
    const struct dice_attrs *a = s->node->attrs;
    struct row_labels labels = row_labels_of(s->node->in[ROW_LOSS_GRAD_LABELS],
                                             s->in[ROW_LOSS_GRAD_LABELS], a->ignore);
    int64_t classes = row_loss_classes(t), rows = row_loss_rows(t);
    const float *sums = s->in[ROW_LOSS_GRAD_SUMS];
    double dloss = *(const float *)s->in[ROW_LOSS_GRAD_DLOSS];

    for (int64_t i = 0; i < rows; i++) {
        const float *z = (const float *)s->in[ROW_LOSS_GRAD_LOGITS] + i * classes;
        float *dz = (float *)s->out[0] + i * classes;
        int label = row_label_checked(&labels, i, classes);
        double lse = log_sum_exp(z, classes), all = 0;

        for (int64_t k = 0; k < classes; k++)
            all += exp(z[k] - lse) * slope(a, sums, classes, k, label, exp(z[k] - lse));
        for (int64_t k = 0; k < classes; k++) {
            double p = exp(z[k] - lse);

            dz[k] =
                label >= 0
                    ? (float)(p * (slope(a, sums, classes, k, label, p) - all) * dloss)
                    : 0;
        }
    }
}

const struct op op_dice_grad = {
    .name = "dice_grad",
    .attrs = dice_attr_table,
    .attrs_size = sizeof(struct dice_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = row_loss_grad_shape,
    .flops = dice_flops,
    .ref = dice_grad_ref,
};
