/*
 * Scores of a classifier that give rare classes the same weight as frequent ones,
 * computed from the logits of an evaluation. Definitions and edge cases are
 * scikit-learn's:
 *
 *   balanced_acc  mean recall over the classes that occur in the labels
 *                 (balanced_accuracy_score)
 *   f1_macro      mean of 2 TP / (2 TP + FP + FN) over the classes that occur in the
 *                 labels or predictions (f1_score, average="macro", zero_division=0)
 *   mcc           multiclass Matthews correlation coefficient (matthews_corrcoef); 0 if
 *                 labels or predictions have only one class
 *   auroc         area under the ROC curve of the softmax (roc_auc_score): of class 1 if
 *                 there are two classes, else the one-versus-rest mean over the classes
 *                 that occur in the labels. Ties count half. NaN if the labels have only
 *                 one class
 *
 * All are NaN if there are no images.
 */
#ifndef TRAIN_CLASS_SCORES_H
#define TRAIN_CLASS_SCORES_H

#include <stdint.h>

#include "train/image_rows.h"

enum { CLASS_SCORES_MAX = 256 }; /* evaluations with more classes skip these scores */

struct class_scores {
    double balanced_acc, f1_macro, mcc, auroc;
};

/* Each row holds the label and the softmax of one image. */
void class_scores_init(struct image_rows *rows, int classes);
/* Adds the image with index `sample` in the data set; logits: one per class. */
void class_scores_add(struct image_rows *rows, int64_t sample, int32_t label,
                      const float *logits);
struct class_scores class_scores_unknown(void); /* all NaN */
struct class_scores class_scores_of(const struct image_rows *rows);

#endif
