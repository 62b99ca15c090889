#include "ops/regression_loss.h"

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"

static const struct attr regression_loss_attr_table[] = {
    ATTR_INT(struct regression_loss_attrs, rule.kind, 0, REGRESSION_KINDS - 1,
             "formula of an element"),
    ATTR_FLOAT(struct regression_loss_attrs, rule.delta, 0, 1e9,
               "error at which huber and smooth_l1 become linear"),
    {0},
};

struct tensor *regression_loss(struct builder *b, struct tensor *values,
                               const struct regression_inputs *in,
                               const struct regression_loss_attrs *a)
{
    struct tensor *list[] = {
        [REGRESSION_VALUES] = values,       [REGRESSION_LABELS] = in->labels,
        [REGRESSION_TARGETS] = in->targets, [REGRESSION_MEAN] = in->mean,
        [REGRESSION_STD] = in->std,         [REGRESSION_LAM] = in->lam,
    };

    return node(b, &op_regression_loss, a->layer, a, list, in->lam ? 6 : 5);
}

static const char *check(const struct node *n, int lam)
{
    const struct tensor *z = n->in[REGRESSION_VALUES], *y = n->in[REGRESSION_TARGETS];
    const struct tensor *labels = n->in[REGRESSION_LABELS];
    const struct regression_loss_attrs *a = n->attrs;

    if (z->layout != LAYOUT_PLAIN || z->ndim != 2)
        return "values must be N x T";
    if (labels->dtype != DTYPE_I32 || !tensor_is_vector(labels, z->dim[0]))
        return "one int32 label for each sample is needed";
    if (y->dtype != DTYPE_F32 || y->ndim != 2 || y->dim[0] != z->dim[0] ||
        y->dim[1] != z->dim[1])
        return "one fp32 target for each value is needed";
    if (!tensor_is_vector(n->in[REGRESSION_MEAN], z->dim[1]) ||
        !tensor_is_vector(n->in[REGRESSION_STD], z->dim[1]))
        return "one mean and one deviation for each target are needed";
    if (n->nin > lam && !tensor_is_vector(n->in[lam], z->dim[0]))
        return "one lam for each sample is needed";
    return a->rule.kind >= REGRESSION_HUBER && !(a->rule.delta > 0)
               ? "delta must be above 0"
               : NULL;
}

static const char *regression_loss_shape(struct node *n)
{
    int64_t one = 1;

    tensor_plain(n->out[0], DTYPE_F32, 1, &one);
    return check(n, REGRESSION_LAM);
}

static const char *regression_loss_grad_shape(struct node *n)
{
    if (!tensor_is_vector(n->in[REGRESSION_DLOSS], 1))
        return "dloss must be one number";
    tensor_like(n->out[0], n->in[REGRESSION_VALUES]);
    return check(n, REGRESSION_GRAD_LAM);
}

static void regression_loss_grad(struct builder *b, const struct node *n)
{
    struct tensor *in[7];
    int nin = n->nin + 1;

    for (int i = 0; i < REGRESSION_DLOSS; i++)
        in[i] = n->in[i];
    in[REGRESSION_DLOSS] = grad_of(b, n->out[0]);
    if (n->nin > REGRESSION_LAM)
        in[REGRESSION_GRAD_LAM] = n->in[REGRESSION_LAM];
    grad_add(b, in[REGRESSION_VALUES],
             node(b, &op_regression_loss_grad, n->layer, n->attrs, in, nin));
}

/* the mix, the error, and its loss */
static int64_t regression_loss_flops(const struct node *n)
{
    return 8 * tensor_len(n->in[REGRESSION_VALUES]);
}

/* What both passes read of a step. The reference computes elements in double by itself, so
 * that it is an oracle for the shared formula. */
struct inputs {
    const struct regression_rule *rule;
    const float *z;
    struct regression_targets t;
    double terms; /* divisor of the loss; 0 if no sample is valid */
};

static struct inputs inputs_of(const struct step *s, int lam)
{
    const struct tensor *z = s->node->in[REGRESSION_VALUES];
    const struct regression_loss_attrs *a = s->node->attrs;
    struct inputs in = {
        .rule = &a->rule,
        .z = s->in[REGRESSION_VALUES],
        .t = {.label = s->in[REGRESSION_LABELS],
              .target = s->in[REGRESSION_TARGETS],
              .mean = s->in[REGRESSION_MEAN],
              .std = s->in[REGRESSION_STD],
              .lam = s->node->nin > lam ? s->in[lam] : NULL,
              .samples = z->dim[0],
              .targets = z->dim[1]},
    };

    for (int64_t i = 0; i < in.t.samples; i++)
        in.terms += regression_valid(&in.t, i);
    in.terms *= (double)in.t.targets;
    return in;
}

static double error_of(const struct inputs *in, int64_t i, int64_t k)
{
    const struct regression_targets *t = &in->t;
    double lam = t->lam ? (double)t->lam[i] : 1;
    double y = (double)t->target[i * t->targets + k];
    double partner = (double)t->target[(t->samples - 1 - i) * t->targets + k];

    if (lam < 1)
        y = lam * y + (1 - lam) * partner;
    return (double)in->z[i * t->targets + k] -
           (y - (double)t->mean[k]) / (double)t->std[k];
}

static double loss_of(const struct regression_rule *r, double e)
{
    double size = fabs(e), delta = (double)r->delta;

    switch (r->kind) {
    case REGRESSION_L2:
        return e * e;
    case REGRESSION_L1:
        return size;
    case REGRESSION_HUBER:
        return size < delta ? 0.5 * e * e : delta * (size - 0.5 * delta);
    default:
        return size < delta ? 0.5 * e * e / delta : size - 0.5 * delta;
    }
}

static double slope_of(const struct regression_rule *r, double e)
{
    double delta = (double)r->delta, linear = e > 0 ? 1 : e < 0 ? -1 : e;

    switch (r->kind) {
    case REGRESSION_L2:
        return 2 * e;
    case REGRESSION_L1:
        return linear;
    case REGRESSION_HUBER:
        return fabs(e) < delta ? e : delta * linear;
    default:
        return fabs(e) < delta ? e / delta : linear;
    }
}

static void regression_loss_ref(const struct step *s)
{
    struct inputs in = inputs_of(s, REGRESSION_LAM);
    double loss = 0;

    for (int64_t i = 0; i < in.t.samples; i++)
        for (int64_t k = 0; k < in.t.targets && regression_valid(&in.t, i); k++)
            loss += loss_of(in.rule, error_of(&in, i, k));
    *(float *)s->out[0] = in.terms > 0 ? (float)(loss / in.terms) : 0;
}

const struct op op_regression_loss = {
    .name = "regression_loss",
    .attrs = regression_loss_attr_table,
    .attrs_size = sizeof(struct regression_loss_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = regression_loss_shape,
    .grad = regression_loss_grad,
    .flops = regression_loss_flops,
    .ref = regression_loss_ref,
};

static void regression_loss_grad_ref(const struct step *s)
{
    struct inputs in = inputs_of(s, REGRESSION_GRAD_LAM);
    double scale =
        in.terms > 0 ? (double)*(const float *)s->in[REGRESSION_DLOSS] / in.terms : 0;
    float *dz = s->out[0];

    for (int64_t i = 0; i < in.t.samples; i++)
        for (int64_t k = 0; k < in.t.targets; k++)
            dz[i * in.t.targets + k] =
                regression_valid(&in.t, i)
                    ? (float)(slope_of(in.rule, error_of(&in, i, k)) * scale)
                    : 0;
}

const struct op op_regression_loss_grad = {
    .name = "regression_loss_grad",
    .attrs = regression_loss_attr_table,
    .attrs_size = sizeof(struct regression_loss_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = regression_loss_grad_shape,
    .flops = regression_loss_flops,
    .ref = regression_loss_grad_ref,
};
