/*
 * distill: distillation from a teacher's logits (Hinton et al. 2015, arXiv 1503.02531),
 * as in DeiT's DistillationLoss (Touvron et al. 2020, arXiv 2012.12877):
 *
 *   soft    T^2 / (valid K) sum over the valid rows of sum_k q_k (log q_k - log p_k),
 *          p = softmax(student / T), q = softmax(teacher / T)
 *   hard    the mean over the valid rows of cross entropy with the teacher's class, its
 *          first largest logit
 *
 * 0 if no row is valid. Always fp32. The teacher gets no gradient.
 *
 * Slots are those of ops/row_loss.h: other is the teacher's logits; sums are the number
 * of valid rows.
 */
#ifndef OPS_DISTILL_H
#define OPS_DISTILL_H

#include "ops/row_loss.h"

struct distill_attrs {
    const char *layer;
    float temperature; /* T > 0, for soft distillation */
    int hard;
    int ignore; /* label of ignored pixels */
};

/* loss = distill(&b, logits, labels, teacher, "loss", .temperature = 3) */
#define distill(b, logits, labels, teacher, ...)                                         \
    distill_((b), (logits), (labels), (teacher),                                         \
             &(const struct distill_attrs){.layer = __VA_ARGS__})
struct tensor *distill_(struct builder *b, struct tensor *logits, struct tensor *labels,
                        struct tensor *teacher, const struct distill_attrs *a);

extern const struct op op_distill, op_distill_grad;

#endif
