/*
 * loss_sum: the weighted sum of losses, sum_i weight_i loss_i, fp32 [1]. Its gradient
 * with respect to each is loss_share: weight_i dloss.
 *
 * loss_times: a loss (or its gradient) times one number of an fp32 vector that is an
 * input of the program: the share of this batch in its update (session/shares.h).
 */
#ifndef OPS_LOSS_SUM_H
#define OPS_LOSS_SUM_H

#include "graph/graph.h"

enum { LOSS_SUM_MAX = 16 };

struct loss_sum_attrs {
    const char *layer;
    float weight[LOSS_SUM_MAX]; /* one per input */
};

struct loss_share_attrs {
    const char *layer;
    float weight;
};

struct tensor *loss_sum(struct builder *b, struct tensor *const *loss, int n,
                        const struct loss_sum_attrs *a);

/* weight * dloss */
struct tensor *loss_share(struct builder *b, struct tensor *dloss,
                          const struct loss_share_attrs *a);

enum { LOSS_TIMES_LOSS, LOSS_TIMES_SHARES };

struct loss_times_attrs {
    const char *layer;
    int index; /* in shares, fp32 [n] */
};

struct tensor *loss_times(struct builder *b, struct tensor *loss, struct tensor *shares,
                          const struct loss_times_attrs *a);

extern const struct op op_loss_sum, op_loss_share, op_loss_times;

#endif
