/*
 * Shared by losses over rows of logits (focal, dice, ohem, distill): a row is an image of
 * a classifier, or a pixel, and its K logits are adjacent in both cases. Slots, shapes,
 * labels, and the node of the gradient.
 *
 * Besides the loss such an op outputs `sums`, which its gradient needs from all rows, so
 * that the backward phase processes each row independently.
 */
#ifndef OPS_ROW_LOSS_H
#define OPS_ROW_LOSS_H

#include "base/hostdev.h"
#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* logits [N,K] and labels int32 [N], -1: ignored; or an image [N,K,H,W] and uint8
 * [N,H,W]. A third input depends on the op. */
enum { ROW_LOSS_LOGITS, ROW_LOSS_LABELS, ROW_LOSS_OTHER };
/* out[]: the loss fp32 [1], the sums; a third depends on the op */
enum { ROW_LOSS_LOSS, ROW_LOSS_SUMS, ROW_LOSS_ROWS };
/* of the gradient, whose output is like the logits; the last depends on the op */
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

/* Checks logits and labels of a loss or of its gradient: returns NULL, or the error. */
const char *row_loss_check(const struct node *n);
/* Sets the shapes of a loss with `sums` sums; below, of its gradient. */
const char *row_loss_shape(struct node *n, int64_t sums);
const char *row_loss_grad_shape(struct node *n);

/* Appends the gradient's node; `other` may be NULL. */
void row_loss_grad(struct builder *b, const struct node *n, const struct op *grad,
                   struct tensor *other);

/* One of the two is NULL. */
struct row_labels {
    const int32_t *image;
    const uint8_t *pixel;
    int ignore; /* pixels: the ignored label */
};

struct row_labels row_labels_of(const struct tensor *t, const void *labels, int ignore);

/* Returns -1 if the row is ignored. */
HOST_DEVICE static inline int row_label(const struct row_labels *l, int64_t i)
{
    int y = l->image ? l->image[i] : l->pixel[i];

    return l->pixel && y == l->ignore ? -1 : y;
}

/* Same for hosts, where an invalid label is a bug. */
int row_label_checked(const struct row_labels *l, int64_t i, int64_t classes);

#ifdef __cplusplus
}
#endif

#endif
