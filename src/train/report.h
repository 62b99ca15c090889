/*
 * trainc eval --report: what an evaluation got wrong.
 *
 *   report.json    the means, and the bins of the calibration error
 *   classes.csv    a row per class: images (pixels), right ones, recall, precision, F1, IoU
 *   confusion.csv  a row per class of the labels, a column per class of the answers
 *   confusion.png  the same; the darker, the larger the share of the row. It has no text:
 *                  rows and columns have the order of classes.csv, 720 / K pixels each,
 *                  or 1
 *   pairs.csv      the classes that are taken for each other most often
 *   worst.csv      the images with the largest loss
 *
 * Of a segmentation pixels are counted, and there are neither calibration nor worst
 * images. Of more than REPORT_CLASSES classes there is no confusion matrix.
 *
 * Calibration: the expected calibration error of Guo et al. 2017 (1706.04599), equation
 * 3, with REPORT_BINS bins of equal width, (m - 1) / M < confidence <= m / M.
 */
#ifndef TRAIN_REPORT_H
#define TRAIN_REPORT_H

#include <stdint.h>

#include "dataset/dataset.h"
#include "train/class_list.h"

enum { REPORT_BINS = 15, REPORT_CLASSES = 4096, REPORT_PAIRS = 100, REPORT_WORST = 100 };

struct report_bin {
    int64_t n, right;
    double confidence; /* their mean; 0 if there are none */
};

struct multilabel_scores;

struct report {
    const struct dataset *data; /* names the images */
    const struct class_list *classes;
    const struct multilabel_scores *sets; /* of MODEL_MULTILABEL, which has only labels.csv;
                                           * NULL: other tasks */
    const char *model, *weights; /* for report.json; which weights: "EMA" */
    int64_t *matrix;             /* [label * K + answer]; NULL: too many classes */
    struct report_class {
        int64_t n, taken, right;
    } * of;
    struct report_item {
        int64_t sample;
        int32_t label, answer;
        float confidence, of_label; /* the answer's probability, and the label's */
        double loss;
    } * item;
    int64_t n, cap;
};

void report_init(struct report *r, const struct dataset *d,
                 const struct class_list *classes);
void report_release(struct report *r);

/* An image with its K logits. */
void report_add(struct report *r, int64_t sample, int32_t label, const float *logits);
/* In place of images: the pixels of a segmentation. */
void report_take_matrix(struct report *r, const int64_t *matrix);

/* Of several processes, each with its part of the images: what all of them added, in the
 * order of the data set, in each. All call it. */
void report_gather(struct report *r);

double report_calibration(const struct report *r, struct report_bin bin[REPORT_BINS]);

/* Before the evaluation: can `dir` be such a folder? NULL, or why not. It may be new,
 * empty, or have a report. */
const char *report_refuse(const char *dir);
void report_write(struct report *r, const char *dir);

#endif
