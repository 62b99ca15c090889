/*
 * regression_loss: the mean, over the valid samples and their targets, of the loss of the
 * standardized error z - (y - mean) / std (ops/regression_formula.h). With mean 0 and std
 * 1 these are PyTorch's MSELoss, L1Loss, HuberLoss(delta), and SmoothL1Loss(beta = delta).
 *
 * With `lam` (ops/mix.h) the targets of sample i are mixed with those of sample N - 1 - i.
 * A sample is valid if its label is not -1 (with lam: nor its partner's). 0 if no sample is
 * valid. Always fp32. mean, std, and targets have no gradient.
 *
 * values z [N, T]; labels int32 [N], 0 or -1; targets y fp32 [N, T]; mean, std fp32 [T];
 * lam fp32 [N] (optional); loss fp32 [1].
 */
#ifndef OPS_REGRESSION_LOSS_H
#define OPS_REGRESSION_LOSS_H

#include "graph/graph.h"
#include "ops/regression_formula.h"

enum {
    REGRESSION_VALUES,
    REGRESSION_LABELS,
    REGRESSION_TARGETS,
    REGRESSION_MEAN,
    REGRESSION_STD,
    REGRESSION_LAM, /* of the loss; the gradient has dloss here, */
    REGRESSION_DLOSS = 5,
    REGRESSION_GRAD_LAM /* and lam after it */
};

struct regression_loss_attrs {
    const char *layer;
    struct regression_rule rule;
};

/* What a loss reads of a batch besides the outputs. */
struct regression_inputs {
    struct tensor *labels, *targets, *mean, *std;
    struct tensor *lam; /* NULL: no mix */
};

struct tensor *regression_loss(struct builder *b, struct tensor *values,
                               const struct regression_inputs *in,
                               const struct regression_loss_attrs *a);

extern const struct op op_regression_loss, op_regression_loss_grad;

#endif
