/*
 * cross_entropy2d: the loss of every pixel, PyTorch's CrossEntropyLoss(weight,
 * ignore_index) of images: sum over the valid pixels of w_y -log softmax(z)_y, divided by
 * the sum of their w_y; 0 if no pixel is valid. Always fp32.
 *
 * A pixel is valid if its label is not `ignore`; any other label must be below K.
 *
 * dz = w_y (softmax(z) - onehot(y)) dloss / sum of w, 0 where the pixel is not valid.
 */
#ifndef OPS_CROSS_ENTROPY2D_H
#define OPS_CROSS_ENTROPY2D_H

#include "graph/graph.h"

enum { CROSS_ENTROPY2D_CLASSES = 256 }; /* labels are bytes */

struct cross_entropy2d_attrs {
    const char *layer;
    int ignore;   /* label of ignored pixels, 0..255; -1: none */
    int weighted; /* 0: every class weighs 1 */
    float weight[CROSS_ENTROPY2D_CLASSES];
};

/* logits image [N,K,H,W], labels uint8 [N,H,W]; loss fp32 [1] */
enum { CROSS_ENTROPY2D_LOGITS, CROSS_ENTROPY2D_LABELS };
/* dz like the logits */
enum {
    CROSS_ENTROPY2D_GRAD_LOGITS,
    CROSS_ENTROPY2D_GRAD_LABELS,
    CROSS_ENTROPY2D_GRAD_DLOSS
};

/* loss = cross_entropy2d(&b, logits, labels, "loss", .ignore = 255) */
#define cross_entropy2d(b, logits, labels, ...)                                          \
    cross_entropy2d_((b), (logits), (labels),                                            \
                     &(const struct cross_entropy2d_attrs){.layer = __VA_ARGS__})
struct tensor *cross_entropy2d_(struct builder *b, struct tensor *logits,
                                struct tensor *labels,
                                const struct cross_entropy2d_attrs *a);

/* Checks logits and label images: returns NULL, or the error. */
const char *cross_entropy2d_check(const struct tensor *z, const struct tensor *labels);

static inline float cross_entropy2d_weight(const struct cross_entropy2d_attrs *a, int y)
{
    return y == a->ignore ? 0 : a->weighted ? a->weight[y] : 1;
}

extern const struct op op_cross_entropy2d, op_cross_entropy2d_grad;

#endif
