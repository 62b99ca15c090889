/* The weighted sum of losses and its gradient for one of them, by one thread. */
#include "ops/loss_sum.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "graph/kernel.h"

__global__ void loss_multiply(const float *loss, const float *share, float *dst)
{
    *dst = *loss * *share;
}

struct loss_terms {
    const float *loss[LOSS_SUM_MAX];
    float weight[LOSS_SUM_MAX];
    int n;
};

__global__ void loss_add(loss_terms t, float *dst)
{
    double sum = 0;

    for (int i = 0; i < t.n; i++)
        sum += (double)t.weight[i] * (double)*t.loss[i];
    *dst = (float)sum;
}

static const char *loss_sum_claim(struct region *r, struct graph *, struct node *n,
                                  struct device *)
{
    if (n->op != &op_loss_sum && n->op != &op_loss_share && n->op != &op_loss_times)
        return "not a sum of losses";
    region_claim_node(r, n);
    return nullptr;
}

static void loss_times_run(struct step *s, struct device *dev)
{
    const struct loss_times_attrs *a = (const struct loss_times_attrs *)s->node->attrs;

    LAUNCH(dev, loss_multiply, 1, 1, 0, (const float *)s->in[LOSS_TIMES_LOSS],
           (const float *)s->in[LOSS_TIMES_SHARES] + a->index, (float *)s->out[0]);
}

static void loss_sum_run(struct step *s, struct device *dev)
{
    const struct loss_sum_attrs *sum = (const struct loss_sum_attrs *)s->node->attrs;
    const struct loss_share_attrs *share =
        (const struct loss_share_attrs *)s->node->attrs;
    loss_terms t = {};

    if (s->node->op == &op_loss_times) {
        loss_times_run(s, dev);
        return;
    }
    t.n = s->nin;
    for (int i = 0; i < t.n; i++) {
        t.loss[i] = (const float *)s->in[i];
        t.weight[i] = s->node->op == &op_loss_sum ? sum->weight[i] : share->weight;
    }
    LAUNCH(dev, loss_add, 1, 1, 0, t, (float *)s->out[0]);
}

extern const struct kernel cuda_loss_sum = {
    .name = "cuda loss_sum",
    .claim = loss_sum_claim,
    .run = loss_sum_run,
};
