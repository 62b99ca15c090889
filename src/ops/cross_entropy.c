#include "ops/cross_entropy.h"

#include <math.h>

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"
#include "ops/label_targets.h"
#include "ops/log_sum_exp.h"

static const struct attr cross_entropy_attr_table[] = {
    ATTR_FLOAT(struct cross_entropy_attrs, smoothing, 0, 1, "label smoothing"),
    {0},
};

struct tensor *cross_entropy_(struct builder *b, struct tensor *logits,
                              struct tensor *labels, struct tensor *lam,
                              const struct cross_entropy_attrs *a)
{
    struct tensor *in[] = {[CROSS_ENTROPY_LOGITS] = logits,
                           [CROSS_ENTROPY_LABELS] = labels,
                           [CROSS_ENTROPY_LAM] = lam};

    return node(b, &op_cross_entropy, a->layer, a, in, lam ? 3 : 2);
}

/* Both ops have logits and labels first; lam stands at slot `lam`, if at all. */
static const char *cross_entropy_check(const struct node *n, int lam)
{
    const struct tensor *z = n->in[CROSS_ENTROPY_LOGITS];
    const struct tensor *labels = n->in[CROSS_ENTROPY_LABELS];

    if (z->layout != LAYOUT_PLAIN || z->ndim != 2)
        return "logits must be N x K";
    if (labels->dtype != DTYPE_I32 || !tensor_is_vector(labels, z->dim[0]))
        return "one int32 label for each sample is needed";
    if (n->nin > lam && !tensor_is_vector(n->in[lam], z->dim[0]))
        return "one lam for each sample is needed";
    return NULL;
}

static const char *cross_entropy_shape(struct node *n)
{
    int64_t one = 1;

    tensor_plain(n->out[0], DTYPE_F32, 1, &one);
    return cross_entropy_check(n, CROSS_ENTROPY_LAM);
}

static void cross_entropy_grad(struct builder *b, const struct node *n)
{
    struct tensor *z = n->in[CROSS_ENTROPY_LOGITS];
    struct tensor *in[4] = {
        [CROSS_ENTROPY_GRAD_LOGITS] = z,
        [CROSS_ENTROPY_GRAD_LABELS] = n->in[CROSS_ENTROPY_LABELS],
        [CROSS_ENTROPY_GRAD_DLOSS] = grad_of(b, n->out[0]),
    };

    if (n->nin > CROSS_ENTROPY_LAM)
        in[CROSS_ENTROPY_GRAD_LAM] = n->in[CROSS_ENTROPY_LAM];
    grad_add(b, z,
             node(b, &op_cross_entropy_grad, n->layer, n->attrs, in,
                  n->nin > CROSS_ENTROPY_LAM ? 4 : 3));
}

/* max, subtract, exp, sum, product with the target */
static int64_t cross_entropy_flops(const struct node *n)
{
    return 5 * tensor_len(n->in[CROSS_ENTROPY_LOGITS]);
}

static struct label_targets targets_of(const struct step *s, int lam)
{
    const struct cross_entropy_attrs *a = s->node->attrs;
    const struct tensor *z = s->node->in[CROSS_ENTROPY_LOGITS];

    return (struct label_targets){.label = s->in[CROSS_ENTROPY_LABELS],
                                  .lam = s->node->nin > lam ? s->in[lam] : NULL,
                                  .samples = z->dim[0],
                                  .classes = z->dim[1],
                                  .smoothing = (double)a->smoothing};
}

static void cross_entropy_ref(const struct step *s)
{
    struct label_targets t = targets_of(s, CROSS_ENTROPY_LAM);
    int64_t n = label_count_valid(&t);
    double loss = 0;

    for (int64_t i = 0; i < t.samples; i++) {
        const float *z = (const float *)s->in[CROSS_ENTROPY_LOGITS] + i * t.classes;
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
    .shape = cross_entropy_shape,
    .grad = cross_entropy_grad,
    .flops = cross_entropy_flops,
    .ref = cross_entropy_ref,
};

static const char *cross_entropy_grad_shape(struct node *n)
{
    if (!tensor_is_vector(n->in[CROSS_ENTROPY_GRAD_DLOSS], 1))
        return "dloss must be one number";
    tensor_like(n->out[0], n->in[CROSS_ENTROPY_GRAD_LOGITS]);
    return cross_entropy_check(n, CROSS_ENTROPY_GRAD_LAM);
}

/* dz = (softmax(z) - target) dloss / valid */
static void cross_entropy_grad_ref(const struct step *s)
{
    struct label_targets t = targets_of(s, CROSS_ENTROPY_GRAD_LAM);
    int64_t n = label_count_valid(&t);
    double scale = n ? *(const float *)s->in[CROSS_ENTROPY_GRAD_DLOSS] / (double)n : 0;

    for (int64_t i = 0; i < t.samples; i++) {
        const float *z = (const float *)s->in[CROSS_ENTROPY_GRAD_LOGITS] + i * t.classes;
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
    .shape = cross_entropy_grad_shape,
    .flops = cross_entropy_flops,
    .ref = cross_entropy_grad_ref,
};
