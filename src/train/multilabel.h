/*
 * Scores for several labels per image (MODEL.TASK multilabel), computed from the logits
 * of an evaluation. Elements with an unknown target are ignored. Definitions are
 * scikit-learn's:
 *
 *   ap        sum of (R_n - R_n-1) P_n over the distinct logits (average_precision_score);
 *             NaN if no image has the label
 *   auroc     Mann-Whitney statistic, ties count half (roc_auc_score); NaN if all images
 *             or none have the label
 *   f1        2 TP / (2 TP + FP + FN) at probability 0.5; 0 if all three are 0
 *             (f1_score, zero_division=0)
 *   map, auroc, f1_macro   means over the classes, ignoring NaN
 *   f1_micro  f1 of the sums of TP, FP, and FN
 *
 * The threshold of a class is the probability that maximizes its f1 on these images: the
 * midpoint, in logits, between the lowest logit that counts as positive and the next
 * lower one. It is 0.5 if no image has the label.
 */
#ifndef TRAIN_MULTILABEL_H
#define TRAIN_MULTILABEL_H

#include <stdint.h>

#include "base/strbuf.h"
#include "io/json.h"
#include "train/image_rows.h"

struct multilabel_class {
    int64_t known, positive; /* number of images */
    int64_t tp, fp, fn;      /* at threshold 0.5 */
    double ap, auroc, f1;
    double threshold, f1_tuned; /* tuned on these images, and therefore optimistic */
};

struct multilabel_scores {
    double map, auroc, f1_micro, f1_macro;
    int classes;
    struct multilabel_class score[]; /* [classes] */
};

/* Each row holds the logits and the targets of one image. */
void multilabel_init(struct image_rows *rows, int classes);
/* Adds the image with index `sample` in the data set. */
void multilabel_add(struct image_rows *rows, int64_t sample, const uint8_t *target,
                    const float *logit);

/* Returns the scores, which the caller frees. All means are NaN if a logit is NaN or
 * there are no images. */
struct multilabel_scores *multilabel_scores_of(const struct image_rows *rows);

/* Appends a CSV table with a line per class. */
void multilabel_add_csv(struct strbuf *out, const struct multilabel_scores *s,
                        const char *const *name);

double multilabel_sigmoid(double z);

/* Parses the thresholds of a checkpoint, a JSON array of `classes` probabilities. Returns
 * an array, which the caller frees, or NULL if `text` is NULL or not such an array. */
double *multilabel_thresholds_parse(const char *text, int classes);

#endif
