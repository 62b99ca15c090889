/*
 * multilabel_loss: the asymmetric loss of Ridnik et al. 2021 (2009.14119), equations 3 to
 * 7, on the sigmoid of each class:
 *
 *   mean over the valid samples of sum_k (w_k y L+(z_k) + (1 - y) L-(z_k)) / K
 *
 * L+ and L- are in ops/multilabel_formula.h. Without gammas and clip it is PyTorch's
 * BCEWithLogitsLoss(pos_weight = w); with gamma_pos = gamma_neg and no clip it is the focal
 * loss of Lin et al. 2017 without alpha. `sum_classes`: without the division by K.
 *
 * The target y is 0 or 1, smoothed to y (1 - e) + e / 2. With `lam` (ops/mix.h) the
 * targets of sample i are mixed with those of sample N - 1 - i. Unknown targets
 * (MULTILABEL_UNKNOWN) add 0. A sample is valid if its label is not -1 (with lam: nor its
 * partner's). 0 if no sample is valid. Always fp32.
 *
 * logits [N, K]; labels int32 [N], 0 or -1; targets uint8 [N, K]; lam fp32 [N] (optional);
 * loss fp32 [1].
 */
#ifndef OPS_MULTILABEL_LOSS_H
#define OPS_MULTILABEL_LOSS_H

#include "graph/graph.h"
#include "ops/multilabel_formula.h"

enum {
    MULTILABEL_LOGITS,
    MULTILABEL_LABELS,
    MULTILABEL_TARGETS,
    MULTILABEL_LAM, /* of the loss; the gradient has dloss here, */
    MULTILABEL_DLOSS = 3,
    MULTILABEL_GRAD_LAM /* and lam after it */
};

struct multilabel_loss_attrs {
    const char *layer;
    int sum_classes;
    struct multilabel_rule rule;
};

struct tensor *multilabel_loss(struct builder *b, struct tensor *logits,
                               struct tensor *labels, struct tensor *targets,
                               struct tensor *lam, const struct multilabel_loss_attrs *a);

extern const struct op op_multilabel_loss, op_multilabel_loss_grad;

#endif
