/*
 * Scores of a classifier that weigh rare classes like frequent ones, from the logits of an
 * evaluation. Definitions and edge cases are scikit-learn's:
 *
 *   balanced_acc  mean recall of the classes that the labels have (balanced_accuracy_score)
 *   f1_macro      mean of 2 TP / (2 TP + FP + FN) over the classes that labels or answers
 *                 have (f1_score, average="macro", zero_division=0)
 *   mcc           Matthews correlation coefficient of K classes (matthews_corrcoef); 0 if
 *                 labels or answers have one class only
 *   auroc         area under the ROC curve of the softmax (roc_auc_score): of class 1 with
 *                 two classes, else the mean of one-versus-rest over the classes of the
 *                 labels. Equal probabilities count half. NaN if the labels have one class
 *
 * All are NaN without an image.
 */
#ifndef TRAIN_CLASS_SCORES_H
#define TRAIN_CLASS_SCORES_H

#include <stdint.h>

#include "train/image_rows.h"

enum { CLASS_SCORES_MOST = 256 }; /* classes for which evaluations compute them */

struct class_scores {
    double balanced_acc, f1_macro, mcc, auroc;
};

/* Rows of images of K classes: the label and the softmax. */
void class_scores_init(struct image_rows *rows, int classes);
/* Adds an image, by its index in the data set, with its K logits. */
void class_scores_add(struct image_rows *rows, int64_t sample, int32_t label,
                      const float *logits);
struct class_scores class_scores_of(const struct image_rows *rows);

#endif
