/*
 * The scores of a segmentation from its confusion matrix n[y][p], pixels of class y that
 * were taken for p (Long et al. 2015, arXiv 1411.4038), all of them shares of 1:
 *
 *   acc        sum_k n[k][k] / all pixels
 *   class_acc  mean over classes of n[k][k] / t_k, t_k the pixels of class k
 *   iou_k      n[k][k] / (t_k + pixels taken for k - n[k][k])
 *   miou       mean over classes of iou_k
 *   mdice      mean over classes of 2 n[k][k] / (t_k + pixels taken for k): Dice, which
 *              is the F1 score
 *   fwiou      sum_k t_k / all pixels * iou_k
 *
 * mmsegmentation calls acc aAcc, class_acc mAcc, and mdice mDice or mFscore.
 *
 * A class without a pixel in the labels is absent and left out of the means: what is
 * taken for it counts against the classes that it was taken from. So a void class
 * (ERFNet's twentieth) needs no rule of its own. Ignored pixels are in no cell.
 */
#ifndef TRAIN_SEGMENTATION_H
#define TRAIN_SEGMENTATION_H

#include <stdint.h>

#include "base/strbuf.h"
#include "image/label.h"

struct segmentation {
    int classes, absent;
    int64_t pixels;
    double acc, class_acc, miou, mdice, fwiou; /* NaN without a pixel */
    struct segmentation_class {
        int64_t pixels, taken, right;
        double acc, iou, dice; /* NaN: absent */
    } of[LABEL_CLASSES];
};

/* What is kept of it, in checkpoints and results: the IoU of each class. */
struct class_iou {
    int n; /* 0: nothing was segmented */
    double of[LABEL_CLASSES];
};

void segmentation_init(struct segmentation *s, const int64_t *matrix, int classes);

struct class_iou segmentation_iou(const struct segmentation *s); /* NULL: none */

/* A table with a line per class; lines end with \n. */
void segmentation_add_table(struct strbuf *text, const struct segmentation *s,
                            const char *const *name);
/* "a, b": the absent classes. */
void segmentation_add_absent(struct strbuf *text, const struct segmentation *s,
                             const char *const *name);

#endif
