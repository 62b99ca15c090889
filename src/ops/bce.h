/*
 * bce: binary cross entropy of every class, as timm's BinaryCrossEntropy:
 *
 *   mean over the valid samples of sum_k (softplus(z_k) - target_k z_k) [/ K]
 *
 * Targets and valid samples are those of cross_entropy. With a threshold, each target
 * becomes 1 where it is larger, else 0. `sum_classes`: without the division by K. 0 if no
 * sample is valid. Always fp32.
 *
 * Slots are those of ops/label_loss.h. dz = (sigmoid(z) - target) dloss / valid [/ K], 0
 * for invalid samples.
 */
#ifndef OPS_BCE_H
#define OPS_BCE_H

#include "ops/label_loss.h"

struct bce_attrs {
    const char *layer;
    float smoothing; /* in [0, 1) */
    float threshold; /* of the targets; read if has_threshold */
    int has_threshold, sum_classes;
};

/* loss = bce(&b, logits, labels, lam or NULL, "loss", .smoothing = 0.1f) */
#define bce(b, logits, labels, lam, ...)                                                 \
    bce_((b), (logits), (labels), (lam), &(const struct bce_attrs){.layer = __VA_ARGS__})
struct tensor *bce_(struct builder *b, struct tensor *logits, struct tensor *labels,
                    struct tensor *lam, const struct bce_attrs *a);

extern const struct op op_bce, op_bce_grad;

#endif
