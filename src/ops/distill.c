#include "ops/distill.h"

#include <math.h>

#include "graph/kernel.h"
#include "ops/image.h"
#include "ops/log_sum_exp.h"

static const struct attr distill_attr_table[] = {
    ATTR_FLOAT(struct distill_attrs, temperature, 1e-3, 1e3,
               "both logits are divided by it"),
    ATTR_INT(struct distill_attrs, hard, 0, 1, "only the teacher's class"),
    ATTR_INT(struct distill_attrs, ignore, -1, 255, "the label of pixels left out"),
    {0},
};

struct tensor *distill_(struct builder *b, struct tensor *logits, struct tensor *labels,
                        struct tensor *teacher, const struct distill_attrs *a)
{
    struct tensor *in[] = {logits, labels, teacher};

    return node(b, &op_distill, a->layer, a, in, 3);
}

static const char *teacher_check(const struct node *n, int slot)
{
    return tensor_same(n->in[ROW_LOSS_LOGITS], n->in[slot])
               ? NULL
               : "the teacher's logits have another shape";
}

static const char *distill_shape(struct node *n)
{
    const char *why = row_loss_shape(n, 1);

    return why ? why : teacher_check(n, ROW_LOSS_OTHER);
}

static void distill_grad(struct builder *b, const struct node *n)
{
    row_loss_grad(b, n, &op_distill_grad, n->in[ROW_LOSS_OTHER]);
}

/* both: max, subtract, exp, sum, and the product */
static int64_t distill_flops(const struct node *n)
{
    return 11 * tensor_len(n->in[ROW_LOSS_LOGITS]);
}

/* log of the sum of exp(z / t) */
static double tempered(const float *z, int64_t n, double t)
{
    double top = z[0], sum = 0;

    for (int64_t k = 1; k < n; k++)
        if (z[k] > top)
            top = z[k];
    for (int64_t k = 0; k < n; k++)
        sum += exp((z[k] - top) / t);
    return top / t + log(sum);
}

static int64_t largest(const float *z, int64_t n)
{
    int64_t best = 0;

    for (int64_t k = 1; k < n; k++)
        if (z[k] > z[best])
            best = k;
    return best;
}

/* Returns the teacher's target for class k. */
static double wanted(const struct distill_attrs *a, const float *teacher, int64_t n,
                     int64_t k)
{
    double t = (double)a->temperature;

    if (a->hard)
        return largest(teacher, n) == k;
    return exp(teacher[k] / t - tempered(teacher, n, t));
}

static double row_loss(const struct distill_attrs *a, const float *z,
                       const float *teacher, int64_t n)
{
    double t = a->hard ? 1 : (double)a->temperature, lse = tempered(z, n, t), sum = 0;
    double prob = tempered(teacher, n, t);

    if (a->hard)
        return lse - z[largest(teacher, n)];
    for (int64_t k = 0; k < n; k++) {
        double log_q = teacher[k] / t - prob;

        sum += exp(log_q) * (log_q - z[k] / t + lse);
    }
    return sum * t * t / (double)n;
}

static void distill_ref(const struct step *s)
{
    const struct tensor *t = s->node->in[ROW_LOSS_LOGITS];
    const struct distill_attrs *a = s->node->attrs;
    struct row_labels labels =
        row_labels_of(s->node->in[ROW_LOSS_LABELS], s->in[ROW_LOSS_LABELS], a->ignore);
    const float *z = s->in[ROW_LOSS_LOGITS], *teacher = s->in[ROW_LOSS_OTHER];
    int64_t classes = row_loss_classes(t);
    double loss = 0, n = 0;

    for (int64_t i = 0; i < row_loss_rows(t); i++)
        if (row_label_checked(&labels, i, classes) >= 0) {
            loss += row_loss(a, z + i * classes, teacher + i * classes, classes);
            n++;
        }
    *(float *)s->out[ROW_LOSS_LOSS] = n > 0 ? (float)(loss / n) : 0;
    *(float *)s->out[ROW_LOSS_SUMS] = (float)n;
}

const struct op op_distill = {
    .name = "distill",
    .attrs = distill_attr_table,
    .attrs_size = sizeof(struct distill_attrs),
    .nout = 2,
    .precision = PRECISION_F32,
    .shape = distill_shape,
    .grad = distill_grad,
    .flops = distill_flops,
    .ref = distill_ref,
};

static const char *distill_grad_shape(struct node *n)
{
    const char *why = row_loss_grad_shape(n);

    return why ? why : teacher_check(n, ROW_LOSS_GRAD_OTHER);
}

static void distill_grad_ref(const struct step *s)
{
    const struct tensor *x = s->node->in[ROW_LOSS_GRAD_LOGITS];
    const struct distill_attrs *a = s->node->attrs;
    struct row_labels labels = row_labels_of(s->node->in[ROW_LOSS_GRAD_LABELS],
                                             s->in[ROW_LOSS_GRAD_LABELS], a->ignore);
    int64_t classes = row_loss_classes(x);
    double n = *(const float *)s->in[ROW_LOSS_GRAD_SUMS];
    double t = a->hard ? 1 : (double)a->temperature, scale = 0;

    if (n > 0)
        scale = *(const float *)s->in[ROW_LOSS_GRAD_DLOSS] / n *
                (a->hard ? 1 : t / (double)classes);
    for (int64_t i = 0; i < row_loss_rows(x); i++) {
        const float *z = (const float *)s->in[ROW_LOSS_GRAD_LOGITS] + i * classes;
        const float *teacher = (const float *)s->in[ROW_LOSS_GRAD_OTHER] + i * classes;
        float *dz = (float *)s->out[0] + i * classes;
        bool counts = row_label(&labels, i) >= 0;
        double lse = tempered(z, classes, t);

        for (int64_t k = 0; k < classes; k++)
            dz[k] = counts
                        ? (float)((exp(z[k] / t - lse) - wanted(a, teacher, classes, k)) *
                                  scale)
                        : 0;
    }
}

const struct op op_distill_grad = {
    .name = "distill_grad",
    .attrs = distill_attr_table,
    .attrs_size = sizeof(struct distill_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = distill_grad_shape,
    .flops = distill_flops,
    .ref = distill_grad_ref,
};
