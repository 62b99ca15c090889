#include "ops/label_loss.h"

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"

struct tensor *label_loss(struct builder *b, const struct op *op, const char *layer,
                          const void *attrs, struct tensor *logits, struct tensor *labels,
                          struct tensor *lam)
{
    struct tensor *in[] = {[LABEL_LOSS_LOGITS] = logits,
                           [LABEL_LOSS_LABELS] = labels,
                           [LABEL_LOSS_LAM] = lam};

    return node(b, op, layer, attrs, in, lam ? 3 : 2);
}

/* Both ops have logits and labels first; lam, if present, is at slot `lam`. */
static const char *check(const struct node *n, int lam)
{
    const struct tensor *z = n->in[LABEL_LOSS_LOGITS];
    const struct tensor *labels = n->in[LABEL_LOSS_LABELS];

    if (z->layout != LAYOUT_PLAIN || z->ndim != 2)
        return "logits must be N x K";
    if (labels->dtype != DTYPE_I32 || !tensor_is_vector(labels, z->dim[0]))
        return "one int32 label for each sample is needed";
    if (n->nin > lam && !tensor_is_vector(n->in[lam], z->dim[0]))
        return "one lam for each sample is needed";
    return NULL;
}

const char *label_loss_shape(struct node *n)
{
    int64_t one = 1;

    tensor_plain(n->out[0], DTYPE_F32, 1, &one);
    return check(n, LABEL_LOSS_LAM);
}

const char *label_loss_grad_shape(struct node *n)
{
    if (!tensor_is_vector(n->in[LABEL_LOSS_GRAD_DLOSS], 1))
        return "dloss must be one number";
    tensor_like(n->out[0], n->in[LABEL_LOSS_GRAD_LOGITS]);
    return check(n, LABEL_LOSS_GRAD_LAM);
}

void label_loss_grad(struct builder *b, const struct node *n, const struct op *grad)
{
    struct tensor *z = n->in[LABEL_LOSS_LOGITS];
    struct tensor *in[4] = {
        [LABEL_LOSS_GRAD_LOGITS] = z,
        [LABEL_LOSS_GRAD_LABELS] = n->in[LABEL_LOSS_LABELS],
        [LABEL_LOSS_GRAD_DLOSS] = grad_of(b, n->out[0]),
    };
    int nin = n->nin > LABEL_LOSS_LAM ? 4 : 3;

    if (nin == 4)
        in[LABEL_LOSS_GRAD_LAM] = n->in[LABEL_LOSS_LAM];
    grad_add(b, z, node(b, grad, n->layer, n->attrs, in, nin));
}

struct label_targets label_targets_of(const struct step *s, int lam, double smoothing)
{
    const struct tensor *z = s->node->in[LABEL_LOSS_LOGITS];

    return (struct label_targets){.label = s->in[LABEL_LOSS_LABELS],
                                  .lam = s->node->nin > lam ? s->in[lam] : NULL,
                                  .samples = z->dim[0],
                                  .classes = z->dim[1],
                                  .smoothing = smoothing};
}
