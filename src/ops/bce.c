#include "ops/bce.h"

#include <math.h>

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"
#include "ops/label_targets.h"

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
    struct tensor *in[] = {[BCE_LOGITS] = logits, [BCE_LABELS] = labels, [BCE_LAM] = lam};

    return node(b, &op_bce, a->layer, a, in, lam ? 3 : 2);
}

/* Both ops have logits and labels first; lam stands at slot `lam`, if at all. */
static const char *bce_check(const struct node *n, int lam)
{
    const struct tensor *z = n->in[BCE_LOGITS], *labels = n->in[BCE_LABELS];

    if (z->layout != LAYOUT_PLAIN || z->ndim != 2)
        return "logits must be N x K";
    if (labels->dtype != DTYPE_I32 || !tensor_is_vector(labels, z->dim[0]))
        return "one int32 label for each sample is needed";
    if (n->nin > lam && !tensor_is_vector(n->in[lam], z->dim[0]))
        return "one lam for each sample is needed";
    return NULL;
}

static const char *bce_shape(struct node *n)
{
    int64_t one = 1;

    tensor_plain(n->out[0], DTYPE_F32, 1, &one);
    return bce_check(n, BCE_LAM);
}

static void bce_grad(struct builder *b, const struct node *n)
{
    struct tensor *z = n->in[BCE_LOGITS];
    struct tensor *in[4] = {
        [BCE_GRAD_LOGITS] = z,
        [BCE_GRAD_LABELS] = n->in[BCE_LABELS],
        [BCE_GRAD_DLOSS] = grad_of(b, n->out[0]),
    };

    if (n->nin > BCE_LAM)
        in[BCE_GRAD_LAM] = n->in[BCE_LAM];
    grad_add(b, z,
             node(b, &op_bce_grad, n->layer, n->attrs, in, n->nin > BCE_LAM ? 4 : 3));
}

/* exp, log, maximum, product with the target, and their sum */
static int64_t bce_flops(const struct node *n)
{
    return 6 * tensor_len(n->in[BCE_LOGITS]);
}

static struct label_targets targets_of(const struct step *s, int lam)
{
    const struct bce_attrs *a = s->node->attrs;
    const struct tensor *z = s->node->in[BCE_LOGITS];

    return (struct label_targets){.label = s->in[BCE_LABELS],
                                  .lam = s->node->nin > lam ? s->in[lam] : NULL,
                                  .samples = z->dim[0],
                                  .classes = z->dim[1],
                                  .smoothing = (double)a->smoothing};
}

static double target(const struct bce_attrs *a, const struct label_targets *t, int64_t i,
                     int64_t k)
{
    double v = label_target(t, i, k);

    return a->has_threshold ? v > (double)a->threshold : v;
}

/* What the loss is divided by; 0: no sample is valid. */
static double terms(const struct bce_attrs *a, const struct label_targets *t)
{
    return (double)label_count_valid(t) * (a->sum_classes ? 1 : (double)t->classes);
}

static void bce_ref(const struct step *s)
{
    const struct bce_attrs *a = s->node->attrs;
    struct label_targets t = targets_of(s, BCE_LAM);
    double n = terms(a, &t), loss = 0;

    for (int64_t i = 0; i < t.samples; i++) {
        const float *z = (const float *)s->in[BCE_LOGITS] + i * t.classes;

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
    .shape = bce_shape,
    .grad = bce_grad,
    .flops = bce_flops,
    .ref = bce_ref,
};

static const char *bce_grad_shape(struct node *n)
{
    if (!tensor_is_vector(n->in[BCE_GRAD_DLOSS], 1))
        return "dloss must be one number";
    tensor_like(n->out[0], n->in[BCE_GRAD_LOGITS]);
    return bce_check(n, BCE_GRAD_LAM);
}

static void bce_grad_ref(const struct step *s)
{
    const struct bce_attrs *a = s->node->attrs;
    struct label_targets t = targets_of(s, BCE_GRAD_LAM);
    double n = terms(a, &t);
    double scale = n > 0 ? *(const float *)s->in[BCE_GRAD_DLOSS] / n : 0;

    for (int64_t i = 0; i < t.samples; i++) {
        const float *z = (const float *)s->in[BCE_GRAD_LOGITS] + i * t.classes;
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
    .shape = bce_grad_shape,
    .flops = bce_flops,
    .ref = bce_grad_ref,
};
