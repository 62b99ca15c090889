#include "ops/focal.h"

#include <math.h>

#include "base/error.h"
#include "graph/kernel.h"
#include "ops/image.h"
#include "ops/log_sum_exp.h"

static const struct attr focal_attr_table[] = {
    ATTR_FLOAT(struct focal_attrs, gamma, 0, 100, "exponent of 1 - p"),
    ATTR_FLOAT(struct focal_attrs, smoothing, 0, 1, "label smoothing"),
    ATTR_INT(struct focal_attrs, ignore, -1, 255, "the label of pixels left out"),
    {0},
};

struct tensor *focal_(struct builder *b, struct tensor *logits, struct tensor *labels,
                      struct tensor *lam, const struct focal_attrs *a)
{
    struct tensor *in[] = {logits, labels, lam};

    return node(b, &op_focal, a->layer, a, in, lam ? 3 : 2);
}

static const char *lam_check(const struct node *n, int slot)
{
    const struct tensor *z = n->in[ROW_LOSS_LOGITS];

    if (n->nin > slot && (z->ndim != 2 || !tensor_is_vector(n->in[slot], z->dim[0])))
        return "one lam for each sample is needed";
    return NULL;
}

static const char *focal_shape(struct node *n)
{
    const char *why = row_loss_shape(n, 1);

    return why ? why : lam_check(n, ROW_LOSS_OTHER);
}

static void focal_grad(struct builder *b, const struct node *n)
{
    row_loss_grad(b, n, &op_focal_grad,
                  n->nin > ROW_LOSS_OTHER ? n->in[ROW_LOSS_OTHER] : NULL);
}

/* max, subtract, exp, sum, power, product with the target */
static int64_t focal_flops(const struct node *n)
{
    return 8 * tensor_len(n->in[ROW_LOSS_LOGITS]);
}

struct focal_rows {
    const struct focal_attrs *a;
    struct row_labels labels;
    const float *z, *lam; /* lam may be NULL */
    int64_t rows, classes;
};

static struct focal_rows rows_of(const struct step *s, int lam)
{
    const struct node *n = s->node;
    const struct focal_attrs *a = n->attrs;

    return (struct focal_rows){
        .a = a,
        .labels =
            row_labels_of(n->in[ROW_LOSS_LABELS], s->in[ROW_LOSS_LABELS], a->ignore),
        .z = s->in[ROW_LOSS_LOGITS],
        .lam = n->nin > lam ? s->in[lam] : NULL,
        .rows = row_loss_rows(n->in[ROW_LOSS_LOGITS]),
        .classes = row_loss_classes(n->in[ROW_LOSS_LOGITS]),
    };
}

static int partner_of(const struct focal_rows *r, int64_t i)
{
    return row_label_checked(&r->labels, r->lam ? r->rows - 1 - i : i, r->classes);
}

static bool valid(const struct focal_rows *r, int64_t i)
{
    return row_label_checked(&r->labels, i, r->classes) >= 0 && partner_of(r, i) >= 0;
}

static double target(const struct focal_rows *r, int64_t i, int64_t k)
{
    double e = (double)r->a->smoothing, lam = r->lam ? (double)r->lam[i] : 1;

    return e / (double)r->classes + (1 - e) * (lam * (row_label(&r->labels, i) == k) +
                                               (1 - lam) * (partner_of(r, i) == k));
}

static void focal_ref(const struct step *s)
{
    struct focal_rows r = rows_of(s, ROW_LOSS_OTHER);
    double gamma = (double)r.a->gamma, loss = 0, n = 0;

    for (int64_t i = 0; i < r.rows; i++) {
        const float *z = r.z + i * r.classes;
        double lse = log_sum_exp(z, r.classes);

        if (!valid(&r, i))
            continue;
        n++;
        for (int64_t k = 0; k < r.classes; k++)
            loss -= target(&r, i, k) * pow(-expm1(z[k] - lse), gamma) * (z[k] - lse);
    }
    *(float *)s->out[ROW_LOSS_LOSS] = n > 0 ? (float)(loss / n) : 0;
    *(float *)s->out[ROW_LOSS_SUMS] = (float)n;
}

const struct op op_focal = {
    .name = "focal",
    .attrs = focal_attr_table,
    .attrs_size = sizeof(struct focal_attrs),
    .nout = 2,
    .precision = PRECISION_F32,
    .shape = focal_shape,
    .grad = focal_grad,
    .flops = focal_flops,
    .ref = focal_ref,
};

static const char *focal_grad_shape(struct node *n)
{
    const char *why = row_loss_grad_shape(n);

    return why ? why : lam_check(n, ROW_LOSS_GRAD_OTHER);
}

/* Returns the derivative of the row's loss with respect to log p_k. */
static double slope(const struct focal_rows *r, int64_t i, int64_t k, double log_p)
{
    double gamma = (double)r->a->gamma, q = -expm1(log_p), power = pow(q, gamma);
    double ratio = q > 0 ? gamma * exp(log_p) * log_p / q : 0;

    return target(r, i, k) * power * (ratio - 1);
}

static void focal_grad_ref(const struct step *s)
{
    struct focal_rows r = rows_of(s, ROW_LOSS_GRAD_OTHER);
    double n = *(const float *)s->in[ROW_LOSS_GRAD_SUMS];
    double scale = n > 0 ? *(const float *)s->in[ROW_LOSS_GRAD_DLOSS] / n : 0;

    for (int64_t i = 0; i < r.rows; i++) {
        const float *z = r.z + i * r.classes;
        float *dz = (float *)s->out[0] + i * r.classes;
        double lse = log_sum_exp(z, r.classes), all = 0;
        bool counts = valid(&r, i);

        for (int64_t k = 0; k < r.classes && counts; k++)
            all += slope(&r, i, k, z[k] - lse);
        for (int64_t k = 0; k < r.classes; k++)
            dz[k] = counts
                        ? (float)((slope(&r, i, k, z[k] - lse) - exp(z[k] - lse) * all) *
                                  scale)
                        : 0;
    }
}

const struct op op_focal_grad = {
    .name = "focal_grad",
    .attrs = focal_attr_table,
    .attrs_size = sizeof(struct focal_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = focal_grad_shape,
    .flops = focal_flops,
    .ref = focal_grad_ref,
};
