#include "ops/multilabel_loss.h"

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"

#define RULE(field, lo, hi, help)                                                        \
    ATTR_FLOAT(struct multilabel_loss_attrs, rule.field, lo, hi, help)

static const struct attr multilabel_loss_attr_table[] = {
    ATTR_INT(struct multilabel_loss_attrs, sum_classes, 0, 1,
             "sum over classes instead of mean"),
    RULE(gamma_pos, 0, 100, "focusing exponent of positive targets"),
    RULE(gamma_neg, 0, 100, "focusing exponent of negative targets"),
    RULE(clip, 0, 1, "probability that negative targets are shifted by"),
    RULE(smoothing, 0, 1, "label smoothing"),
    ATTR_INT(struct multilabel_loss_attrs, rule.weighted, 0, 1,
             "positive targets have weights"),
    {0},
};

struct tensor *multilabel_loss(struct builder *b, struct tensor *logits,
                               struct tensor *labels, struct tensor *targets,
                               struct tensor *lam, const struct multilabel_loss_attrs *a)
{
    struct tensor *in[] = {[MULTILABEL_LOGITS] = logits,
                           [MULTILABEL_LABELS] = labels,
                           [MULTILABEL_TARGETS] = targets,
                           [MULTILABEL_LAM] = lam};

    return node(b, &op_multilabel_loss, a->layer, a, in, lam ? 4 : 3);
}

static const char *check(const struct node *n, int lam)
{
    const struct tensor *z = n->in[MULTILABEL_LOGITS], *y = n->in[MULTILABEL_TARGETS];
    const struct tensor *labels = n->in[MULTILABEL_LABELS];
    const struct multilabel_loss_attrs *a = n->attrs;

    if (z->layout != LAYOUT_PLAIN || z->ndim != 2)
        return "logits must be N x K";
    if (labels->dtype != DTYPE_I32 || !tensor_is_vector(labels, z->dim[0]))
        return "one int32 label for each sample is needed";
    if (y->dtype != DTYPE_U8 || y->ndim != 2 || y->dim[0] != z->dim[0] ||
        y->dim[1] != z->dim[1])
        return "one uint8 target for each logit is needed";
    if (n->nin > lam && !tensor_is_vector(n->in[lam], z->dim[0]))
        return "one lam for each sample is needed";
    return a->rule.weighted && z->dim[1] > MULTILABEL_WEIGHTS
               ? "too many classes to have weights"
               : NULL;
}

static const char *multilabel_loss_shape(struct node *n)
{
    int64_t one = 1;

    tensor_plain(n->out[0], DTYPE_F32, 1, &one);
    return check(n, MULTILABEL_LAM);
}

static const char *multilabel_loss_grad_shape(struct node *n)
{
    if (!tensor_is_vector(n->in[MULTILABEL_DLOSS], 1))
        return "dloss must be one number";
    tensor_like(n->out[0], n->in[MULTILABEL_LOGITS]);
    return check(n, MULTILABEL_GRAD_LAM);
}

static void multilabel_loss_grad(struct builder *b, const struct node *n)
{
    struct tensor *z = n->in[MULTILABEL_LOGITS];
    struct tensor *in[5] = {
        [MULTILABEL_LOGITS] = z,
        [MULTILABEL_LABELS] = n->in[MULTILABEL_LABELS],
        [MULTILABEL_TARGETS] = n->in[MULTILABEL_TARGETS],
        [MULTILABEL_DLOSS] = grad_of(b, n->out[0]),
    };
    int nin = n->nin > MULTILABEL_LAM ? 5 : 4;

    if (nin == 5)
        in[MULTILABEL_GRAD_LAM] = n->in[MULTILABEL_LAM];
    grad_add(b, z, node(b, &op_multilabel_loss_grad, n->layer, n->attrs, in, nin));
}

/* two exponentials, two logarithms, two powers, and their sum */
static int64_t multilabel_loss_flops(const struct node *n)
{
    return 12 * tensor_len(n->in[MULTILABEL_LOGITS]);
}

/* What both passes read of a step. */
struct inputs {
    const struct multilabel_loss_attrs *a;
    const float *z;
    struct multilabel_targets t;
    double terms; /* divisor of the loss; 0 if no sample is valid */
};

static struct inputs inputs_of(const struct step *s, int lam)
{
    const struct tensor *z = s->node->in[MULTILABEL_LOGITS];
    struct inputs in = {
        .a = s->node->attrs,
        .z = s->in[MULTILABEL_LOGITS],
        .t = {.lam = s->node->nin > lam ? s->in[lam] : NULL,
              .label = s->in[MULTILABEL_LABELS],
              .target = s->in[MULTILABEL_TARGETS],
              .samples = z->dim[0],
              .classes = z->dim[1]},
    };

    for (int64_t i = 0; i < in.t.samples; i++)
        in.terms += multilabel_valid(&in.t, i);
    in.terms *= in.a->sum_classes ? 1 : (double)in.t.classes;
    return in;
}

static void multilabel_loss_ref(const struct step *s)
{
    struct inputs in = inputs_of(s, MULTILABEL_LAM);
    double loss = 0;

    for (int64_t i = 0; i < in.t.samples; i++)
        for (int64_t k = 0; k < in.t.classes; k++) {
            float y = multilabel_target_of(&in.a->rule, &in.t, i, k);

            if (y >= 0)
                loss += (double)multilabel_element(&in.a->rule, k,
                                                   in.z[i * in.t.classes + k], y);
        }
    *(float *)s->out[0] = in.terms > 0 ? (float)(loss / in.terms) : 0;
}

const struct op op_multilabel_loss = {
    .name = "multilabel_loss",
    .attrs = multilabel_loss_attr_table,
    .attrs_size = sizeof(struct multilabel_loss_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = multilabel_loss_shape,
    .grad = multilabel_loss_grad,
    .flops = multilabel_loss_flops,
    .ref = multilabel_loss_ref,
};

static void multilabel_loss_grad_ref(const struct step *s)
{
    struct inputs in = inputs_of(s, MULTILABEL_GRAD_LAM);
    double scale =
        in.terms > 0 ? (double)*(const float *)s->in[MULTILABEL_DLOSS] / in.terms : 0;
    float *dz = s->out[0];

    for (int64_t i = 0; i < in.t.samples; i++)
        for (int64_t k = 0; k < in.t.classes; k++) {
            int64_t pos = i * in.t.classes + k;
            float y = multilabel_target_of(&in.a->rule, &in.t, i, k);

            dz[pos] = y >= 0 ? (float)((double)multilabel_derivative(&in.a->rule, k,
                                                                     in.z[pos], y) *
                                       scale)
                             : 0;
        }
}

const struct op op_multilabel_loss_grad = {
    .name = "multilabel_loss_grad",
    .attrs = multilabel_loss_attr_table,
    .attrs_size = sizeof(struct multilabel_loss_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = multilabel_loss_grad_shape,
    .flops = multilabel_loss_flops,
    .ref = multilabel_loss_grad_ref,
};
