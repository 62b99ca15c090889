/*
 * focal: cross entropy with small weights for well classified samples or pixels (Lin et
 * al. 2017, arXiv 1708.02002), of a softmax:
 *
 *   mean over the valid rows of - sum_k target_k (1 - p_k)^gamma log p_k
 *
 * Targets of images are those of cross_entropy, with smoothing and mixup's lam; a pixel
 * has its label. Gamma 0 is cross entropy. 0 if no row is valid. Always fp32.
 *
 * Slots are those of ops/row_loss.h: other is lam fp32 [N] or absent; sums are the number
 * of valid rows.
 */
#ifndef OPS_FOCAL_H
#define OPS_FOCAL_H

#include "ops/row_loss.h"

struct focal_attrs {
    const char *layer;
    float gamma;     /* >= 0 */
    float smoothing; /* in [0, 1), of images */
    int ignore;      /* label of ignored pixels */
};

/* loss = focal(&b, logits, labels, lam or NULL, "loss", .gamma = 2) */
#define focal(b, logits, labels, lam, ...)                                               \
    focal_((b), (logits), (labels), (lam),                                               \
           &(const struct focal_attrs){.layer = __VA_ARGS__})
struct tensor *focal_(struct builder *b, struct tensor *logits, struct tensor *labels,
                      struct tensor *lam, const struct focal_attrs *a);

extern const struct op op_focal, op_focal_grad;

#endif
