/*
 * Shared by losses of image labels (cross_entropy, bce): slots, shapes, the gradient's
 * node, and for their references the target of each class of each sample:
 *
 *   target = on at the label, off elsewhere; on = 1 - e + e/K, off = e/K, e = smoothing
 *   with lam (ops/mix.h): lam target(label_i) + (1 - lam) target(label_{N-1-i})
 */
#ifndef OPS_LABEL_LOSS_H
#define OPS_LABEL_LOSS_H

#include "base/error.h"
#include "graph/graph.h"

/* logits [N,K], labels int32 [N] in [-1, K), lam fp32 [N] (optional); loss fp32 [1] */
enum { LABEL_LOSS_LOGITS, LABEL_LOSS_LABELS, LABEL_LOSS_LAM };
/* dz like the logits; nin is 4 with lam, 3 without */
enum {
    LABEL_LOSS_GRAD_LOGITS,
    LABEL_LOSS_GRAD_LABELS,
    LABEL_LOSS_GRAD_DLOSS,
    LABEL_LOSS_GRAD_LAM
};

/* The node of a loss; `lam` may be NULL. */
struct tensor *label_loss(struct builder *b, const struct op *op, const char *layer,
                          const void *attrs, struct tensor *logits, struct tensor *labels,
                          struct tensor *lam);

/* struct op's shape of a loss and of its gradient; its grad, given the gradient's op. */
const char *label_loss_shape(struct node *n);
const char *label_loss_grad_shape(struct node *n);
void label_loss_grad(struct builder *b, const struct node *n, const struct op *grad);

/* ---- for references ---- */

struct label_targets {
    const int32_t *label;
    const float *lam; /* or NULL */
    int64_t samples, classes;
    double smoothing;
};

/* `lam`: the slot of lam in the step's node. */
struct label_targets label_targets_of(const struct step *s, int lam, double smoothing);

/* True if the label is not -1 (with lam: nor its partner's). */
static inline bool label_valid(const struct label_targets *t, int64_t i)
{
    int32_t target = t->label[i], partner = t->label[t->samples - 1 - i];

    if (target >= t->classes || target < -1)
        BUG("label %d of %lld classes", target, (long long)t->classes);
    return target >= 0 && (!t->lam || partner >= 0);
}

static inline int64_t label_count_valid(const struct label_targets *t)
{
    int64_t n = 0;

    for (int64_t i = 0; i < t->samples; i++)
        n += label_valid(t, i);
    return n;
}

static inline double label_target(const struct label_targets *t, int64_t i, int64_t k)
{
    double off_value = t->smoothing / (double)t->classes, on_value = 1 - t->smoothing;
    double lam = t->lam ? (double)t->lam[i] : 1, sum = off_value;

    if (t->label[i] == k)
        sum += lam * on_value;
    if (t->lam && t->label[t->samples - 1 - i] == k)
        sum += (1 - lam) * on_value;
    return sum;
}

#endif
