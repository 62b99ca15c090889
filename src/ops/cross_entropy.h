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
 */
#ifndef OPS_CROSS_ENTROPY_H
#define OPS_CROSS_ENTROPY_H

#include "ops/label_loss.h"

struct cross_entropy_attrs {
    const char *layer;
    float smoothing; /* in [0, 1) */
};

/* loss = cross_entropy(&b, logits, labels, lam or NULL, "loss", .smoothing = 0.1f) */
#define cross_entropy(b, logits, labels, lam, ...)                                       \
    cross_entropy_((b), (logits), (labels), (lam),                                       \
                   &(const struct cross_entropy_attrs){.layer = __VA_ARGS__})
struct tensor *cross_entropy_(struct builder *b, struct tensor *logits,
                              struct tensor *labels, struct tensor *lam,
                              const struct cross_entropy_attrs *a);

extern const struct op op_cross_entropy, op_cross_entropy_grad;

#endif
