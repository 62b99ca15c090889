#include "ops/ohem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/kernel.h"
#include "ops/image.h"
#include "ops/log_sum_exp.h"
#include "ops/ohem_formula.h"

static const struct attr ohem_attr_table[] = {
    ATTR_FLOAT(struct ohem_attrs, thresh, 1e-30, 1,
               "probability below which a row counts"),
    ATTR_FLOAT(struct ohem_attrs, min_share, 0, 1, "of the valid rows that count"),
    ATTR_INT(struct ohem_attrs, ignore, -1, 255, "the label of pixels left out"),
    {0},
};

struct tensor *ohem_(struct builder *b, struct tensor *logits, struct tensor *labels,
                     const struct ohem_attrs *a)
{
    struct tensor *in[] = {logits, labels};

    return node(b, &op_ohem, a->layer, a, in, 2);
}

static const char *ohem_shape(struct node *n)
{
    int64_t rows = row_loss_rows(n->in[ROW_LOSS_LOGITS]);

    tensor_plain(n->out[ROW_LOSS_ROWS], DTYPE_F32, 1, &rows);
    return row_loss_shape(n, OHEM_SUMS);
}

static void ohem_grad(struct builder *b, const struct node *n)
{
    row_loss_grad(b, n, &op_ohem_grad, n->out[ROW_LOSS_ROWS]);
}

/* max, subtract, exp, sum, product with the target */
static int64_t ohem_flops(const struct node *n)
{
    return 5 * tensor_len(n->in[ROW_LOSS_LOGITS]);
}

static int larger_first(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    if (isnan(x) || isnan(y))
        return isnan(y) - isnan(x);
    return x < y ? 1 : x > y ? -1 : 0;
}

/* `sorted`: the losses of the valid rows, largest first. Returns how many count. */
static int64_t choose(const struct ohem_attrs *a, const float *sorted, int64_t valid,
                      float *sums)
{
    int64_t least = ohem_least(valid, a->min_share), hard = 0, above = 0, pos = 0;

    sums[OHEM_CUT] = ohem_cut(a->thresh);
    sums[OHEM_TIE] = 0;
    while (hard < valid && !(sorted[hard] <= sums[OHEM_CUT]))
        hard++;
    if (hard < least) {
        hard = least;
        sums[OHEM_CUT] = sorted[least - 1];
        for (int64_t i = 0; i < valid; i++) {
            above += sorted[i] > sums[OHEM_CUT] || isnan(sorted[i]);
            pos += sorted[i] == sums[OHEM_CUT];
        }
        sums[OHEM_TIE] = pos ? (float)(least - above) / (float)pos : 0;
    }
    sums[OHEM_SCALE] = hard ? 1 / (float)hard : 0;
    return hard;
}

static void ohem_ref(const struct step *s)
{
    const struct tensor *t = s->node->in[ROW_LOSS_LOGITS];
    const struct ohem_attrs *a = s->node->attrs;
    struct row_labels labels =
        row_labels_of(s->node->in[ROW_LOSS_LABELS], s->in[ROW_LOSS_LABELS], a->ignore);
    int64_t classes = row_loss_classes(t), rows = row_loss_rows(t), valid = 0, kept;
    float *loss = s->out[ROW_LOSS_ROWS], *sorted = xcalloc((size_t)rows, sizeof(*sorted));
    double sum = 0;

    for (int64_t i = 0; i < rows; i++) {
        const float *z = (const float *)s->in[ROW_LOSS_LOGITS] + i * classes;
        int label = row_label_checked(&labels, i, classes);

        loss[i] = -1;
        if (label < 0)
            continue;
        loss[i] = ohem_row((float)log_sum_exp(z, classes), z[label]);
        sorted[valid++] = loss[i];
    }
    qsort(sorted, (size_t)valid, sizeof(*sorted), larger_first);
    kept = choose(a, sorted, valid, s->out[ROW_LOSS_SUMS]);
    for (int64_t i = 0; i < kept; i++)
        sum += sorted[i];
    *(float *)s->out[ROW_LOSS_LOSS] = kept ? (float)(sum / (double)kept) : 0;
    free(sorted);
}

const struct op op_ohem = {
    .name = "ohem",
    .attrs = ohem_attr_table,
    .attrs_size = sizeof(struct ohem_attrs),
    .nout = 3,
    .precision = PRECISION_F32,
    .shape = ohem_shape,
    .grad = ohem_grad,
    .flops = ohem_flops,
    .ref = ohem_ref,
};

static const char *ohem_grad_shape(struct node *n)
{
    const char *why = row_loss_grad_shape(n);

    if (!why && !tensor_is_vector(n->in[ROW_LOSS_GRAD_OTHER],
                                  row_loss_rows(n->in[ROW_LOSS_GRAD_LOGITS])))
        why = "one loss for each row is needed";
    return why;
}

static void ohem_grad_ref(const struct step *s)
{
    const struct tensor *t = s->node->in[ROW_LOSS_GRAD_LOGITS];
    const struct ohem_attrs *a = s->node->attrs;
    struct row_labels labels = row_labels_of(s->node->in[ROW_LOSS_GRAD_LABELS],
                                             s->in[ROW_LOSS_GRAD_LABELS], a->ignore);
    const float *sums = s->in[ROW_LOSS_GRAD_SUMS], *loss = s->in[ROW_LOSS_GRAD_OTHER];
    double scale = (double)sums[OHEM_SCALE] * *(const float *)s->in[ROW_LOSS_GRAD_DLOSS];
    int64_t classes = row_loss_classes(t);

    for (int64_t i = 0; i < row_loss_rows(t); i++) {
        const float *z = (const float *)s->in[ROW_LOSS_GRAD_LOGITS] + i * classes;
        float *dz = (float *)s->out[0] + i * classes;
        double w = ohem_weight(loss[i], sums[OHEM_CUT], sums[OHEM_TIE]) * scale;
        double lse = log_sum_exp(z, classes);
        int label = row_label(&labels, i);

        for (int64_t k = 0; k < classes; k++)
            dz[k] = loss[i] < 0 ? 0 : (float)((exp(z[k] - lse) - (label == k)) * w);
    }
}

const struct op op_ohem_grad = {
    .name = "ohem_grad",
    .attrs = ohem_attr_table,
    .attrs_size = sizeof(struct ohem_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = ohem_grad_shape,
    .flops = ohem_flops,
    .ref = ohem_grad_ref,
};
