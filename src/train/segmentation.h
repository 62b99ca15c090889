/*
 * The scores of a segmentation, computed from its confusion matrix n[y][p], the number of
 * pixels of class y that are predicted as p (Long et al. 2015, arXiv 1411.4038). All are
 * fractions; t_k is the number of pixels of class k, p_k that of pixels predicted as k:
 *
 *   acc        sum_k n[k][k] / all pixels
 *   class_acc  mean over classes of n[k][k] / t_k
 *   iou_k      n[k][k] / (t_k + p_k - n[k][k])
 *   miou       mean over classes of iou_k
 *   mdice      mean over classes of 2 n[k][k] / (t_k + p_k), the Dice or F1 score
 *   fwiou      sum_k t_k / all pixels * iou_k
 *
 * mmsegmentation calls acc aAcc, class_acc mAcc, and mdice mDice or mFscore. It differs for
 * a class that no label has but that is predicted: its IoU and Dice of 0 count in mIoU and
 * mDice there, but not in mFscore, where classes without a right pixel are left out, too.
 *
 * A class that does not occur in the labels is absent and excluded from the means; pixels
 * predicted as such a class count as errors of their true classes. Therefore a void class
 * (ERFNet's twentieth) needs no special treatment. The matrix does not count ignored
 * pixels.
 */
#ifndef TRAIN_SEGMENTATION_H
#define TRAIN_SEGMENTATION_H

#include <stdint.h>

#include "base/strbuf.h"
#include "image/label.h"
#include "train/boundary.h"

struct segmentation {
    int classes, absent;
    int64_t pixels;
    double acc, class_acc, miou, mdice, fwiou; /* NaN without pixels */
    double boundary; /* mean Boundary IoU; NaN until segmentation_set_boundary() */
    struct segmentation_class {
        int64_t pixels, taken, right;
        double acc, iou, dice; /* NaN if absent */
        double boundary;       /* as is this one */
    } class_result[LABEL_CLASSES];
};

/* The IoU of each class, as stored in checkpoints and results. */
struct class_iou {
    int n; /* number of classes; 0 without a segmentation */
    double iou[LABEL_CLASSES];
};

void segmentation_init(struct segmentation *s, const int64_t *matrix, int classes);

/* Sets the Boundary IoU of each class, and their mean over the classes of the labels. */
void segmentation_set_boundary(struct segmentation *s, const struct boundary *b);

struct class_iou segmentation_iou(const struct segmentation *s); /* `s` may be NULL. */

/* Appends a table with a line per class; lines end with \n. */
void segmentation_add_table(struct strbuf *text, const struct segmentation *s,
                            const char *const *name);
/* Appends the absent classes: "a, b". */
void segmentation_add_absent(struct strbuf *text, const struct segmentation *s,
                             const char *const *name);

#endif
