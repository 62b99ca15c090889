/*
 * dice: overlap of each class with its label map, over all valid pixels (or samples) of the
 * batch (Milletari et al. 2016, arXiv 1606.04797), of a softmax:
 *
 *   1 - mean over k of (2 I_k + smooth) / (P_k + Y_k + smooth)
 *
 * with I_k the sum of p_k where the label is k, P_k the sum of p_k (of its square if
 * `squared`), Y_k the number of labels k. Always fp32.
 *
 * Slots are those of ops/row_loss.h. Sums are 2 K: the derivative of the loss by p_k is
 * A_k, where the label is k, plus B_k (times p_k if `squared`): A_0..A_K-1, B_0..B_K-1.
 */
#ifndef OPS_DICE_H
#define OPS_DICE_H

#include "ops/row_loss.h"

struct dice_attrs {
    const char *layer;
    float smooth; /* > 0: avoids 0 / 0 for an absent class */
    int squared;
    int ignore; /* label of ignored pixels */
};

/* loss = dice(&b, logits, labels, "loss", .smooth = 1) */
#define dice(b, logits, labels, ...)                                                     \
    dice_((b), (logits), (labels), &(const struct dice_attrs){.layer = __VA_ARGS__})
struct tensor *dice_(struct builder *b, struct tensor *logits, struct tensor *labels,
                     const struct dice_attrs *a);

/* Sums over the rows of a class, for host and device. */
struct dice_class {
    double overlap, mass, labels; /* I, P, Y */
};

/* Returns its share of the loss, and its gradient by p: *a where the label is k, *b
 * always. */
HOST_DEVICE static inline double dice_end(const struct dice_class *c, double smooth,
                                          bool squared, double classes, double *a,
                                          double *b)
{
    double n = 2 * c->overlap + smooth, d = c->mass + c->labels + smooth;

    *a = -2 / (d * classes);
    *b = (squared ? 2 : 1) * n / (d * d * classes);
    return (1 - n / d) / classes;
}

extern const struct op op_dice, op_dice_grad;

#endif
