/*
 * What losses of rows of logits share (focal, dice, ohem, distill): a row is an image of a
 * classifier, or a pixel, and its K logits lie beside each other in both cases. Slots,
 * shapes, labels, and the node of the gradient.
 *
 * Beside the loss such an op leaves what its gradient needs of all rows, `sums`, so that
 * the backward phase looks at each row alone.
 */
#ifndef OPS_ROW_LOSS_H
#define OPS_ROW_LOSS_H

#include "base/hostdev.h"
#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* logits [N,K] and labels int32 [N], -1: does not count; or an image [N,K,H,W] and uint8
 * [N,H,W]. A third input is the op's own. */
enum { ROW_LOSS_LOGITS, ROW_LOSS_LABELS, ROW_LOSS_OTHER };
/* out[]: the loss fp32 [1], the sums; a third is the op's own */
enum { ROW_LOSS_LOSS, ROW_LOSS_SUMS, ROW_LOSS_ROWS };
/* of the gradient, whose output is like the logits; the last is what the op says */
enum {
    ROW_LOSS_GRAD_LOGITS,
    ROW_LOSS_GRAD_LABELS,
    ROW_LOSS_GRAD_DLOSS,
    ROW_LOSS_GRAD_SUMS,
    ROW_LOSS_GRAD_OTHER
};

static inline int64_t row_loss_classes(const struct tensor *logits)
{
    return logits->dim[1];
}

static inline int64_t row_loss_rows(const struct tensor *logits)
{
    return tensor_len(logits) / logits->dim[1];
}

/* Logits and labels of a loss or of its gradient: NULL, or what is wrong. */
const char *row_loss_check(const struct node *n);
/* Shapes of the outputs of a loss with so many sums, and of its gradient. */
const char *row_loss_shape(struct node *n, int64_t sums);
const char *row_loss_grad_shape(struct node *n);

/* Appends the gradient's node; `other` may be NULL. */
void row_loss_grad(struct builder *b, const struct node *n, const struct op *grad,
                   struct tensor *other);

/* One of the two is NULL. */
struct row_labels {
    const int32_t *image;
    const uint8_t *pixel;
    int ignore; /* of pixels: the label that does not count */
};

struct row_labels row_labels_of(const struct tensor *t, const void *labels, int ignore);

/* -1: the row does not count. */
HOST_DEVICE static inline int row_label(const struct row_labels *l, int64_t i)
{
    int y = l->image ? l->image[i] : l->pixel[i];

    return l->pixel && y == l->ignore ? -1 : y;
}

/* The same for hosts, where a label that is no class is a bug. */
int row_label_checked(const struct row_labels *l, int64_t i, int64_t classes);

#ifdef __cplusplus
}
#endif

#endif
