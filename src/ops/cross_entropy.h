/*
 * cross_entropy: the mean over the valid samples of -sum_k target_k log softmax(z)_k; 0
 * if no sample is valid. Always fp32.
 *
 *   target = on at the label, off elsewhere; on = 1 - e + e/K, off = e/K, e = smoothing.
 *   With `lam` (ops/mix.h): target = lam target(label_i) + (1 - lam) target(label_{N-1-i}).
 *   A sample is valid if its label is not -1 (with lam: nor its partner's).
 *
 * Slots are those of ops/label_loss.h. dz = (softmax(z) - target) dloss / valid, 0 for
 * invalid samples; the gradient recomputes the softmax.
 *
 * If `weighted`, classes have weights w and biases b, and with z' = z + b the loss is
 *
 *   sum_i sum_k w_k target_ik (log sum_j exp z'_ij - z'_ik) / sum_i w_label(i)
 *
 * over valid samples i: PyTorch's CrossEntropyLoss(weight, label_smoothing) without lam and
 * b, and with b = tau log(prior) the logit-adjusted loss of Menon et al. 2021 (2007.07314),
 * equation 10.
 */
#ifndef OPS_CROSS_ENTROPY_H
#define OPS_CROSS_ENTROPY_H

#include "base/hostdev.h"
#include "ops/label_loss.h"

enum { CROSS_ENTROPY_WEIGHTS = 256 }; /* classes that may have weights */

struct class_terms {
    float weight[CROSS_ENTROPY_WEIGHTS], bias[CROSS_ENTROPY_WEIGHTS];
};

struct cross_entropy_attrs {
    const char *layer;
    float smoothing; /* in [0, 1) */
    int weighted;    /* reads `terms` */
    struct class_terms terms;
};

/* Returns the weight of a class. */
HOST_DEVICE static inline float class_weight_of(const struct class_terms *terms,
                                                int weighted, int64_t k)
{
    return weighted ? terms->weight[k] : 1;
}

HOST_DEVICE static inline float class_bias_of(const struct class_terms *terms,
                                              int weighted, int64_t k)
{
    return weighted ? terms->bias[k] : 0;
}

/* loss = cross_entropy(&b, logits, labels, lam or NULL, "loss", .smoothing = 0.1f) */
#define cross_entropy(b, logits, labels, lam, ...)                                       \
    cross_entropy_((b), (logits), (labels), (lam),                                       \
                   &(const struct cross_entropy_attrs){.layer = __VA_ARGS__})
struct tensor *cross_entropy_(struct builder *b, struct tensor *logits,
                              struct tensor *labels, struct tensor *lam,
                              const struct cross_entropy_attrs *a);

extern const struct op op_cross_entropy, op_cross_entropy_grad;

#endif
