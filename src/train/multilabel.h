/*
 * Scores of several labels per image (MODEL.TASK multilabel), from the logits of an
 * evaluation. Elements whose target is unknown are left out. Definitions are scikit-learn's:
 *
 *   ap        sum of (R_n - R_n-1) P_n over the distinct logits (average_precision_score);
 *             NaN if no image has the label
 *   auroc     Mann-Whitney statistic, ties count half (roc_auc_score); NaN if all images
 *             have the label, or none
 *   f1        2 TP / (2 TP + FP + FN) of the labels with a probability above 0.5, 0 if it
 *             has no terms (f1_score, zero_division=0)
 *   map, auroc, f1_macro   means over the classes, for map and auroc without NaN
 *   f1_micro  f1 of the sums of TP, FP, and FN
 *
 * The threshold of a class is the probability that maximizes its f1 on these images: the
 * middle, in logits, between the lowest logit that counts as positive and the next one.
 * 0.5 if no image has the label.
 */
#ifndef TRAIN_MULTILABEL_H
#define TRAIN_MULTILABEL_H

#include <stdint.h>

#include "base/strbuf.h"
#include "io/json.h"
#include "train/image_rows.h"

struct multilabel_class {
    int64_t known, positive; /* images */
    int64_t tp, fp, fn;      /* at 0.5 */
    double ap, auroc, f1;
    double threshold, f1_tuned; /* tuned on these images: optimistic */
};

struct multilabel_scores {
    double map, auroc, f1_micro, f1_macro;
    int classes;
    struct multilabel_class of[]; /* [classes] */
};

/* Rows of images of K labels: the logits and the targets. */
void multilabel_init(struct image_rows *rows, int classes);
/* Adds an image, by its index in the data set. */
void multilabel_add(struct image_rows *rows, int64_t sample, const uint8_t *target,
                    const float *logit);

/* Returns a heap block. All means are NaN if a logit is NaN or there is no image. */
struct multilabel_scores *multilabel_scores_of(const struct image_rows *rows);

/* Appends a table in CSV, a line per class. */
void multilabel_add_csv(struct strbuf *out, const struct multilabel_scores *s,
                        const char *const *name);

double multilabel_sigmoid(double z);

/* Reads a JSON array of `classes` probabilities, as checkpoints keep thresholds. Returns a
 * heap array, or NULL if `text` is NULL or something else. */
double *multilabel_thresholds_parse(const char *text, int classes);

#endif
