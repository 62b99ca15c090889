/*
 * trainc eval --report: a report on the errors of an evaluation.
 *
 *   report.json    means, and the bins of the calibration error
 *   classes.csv    a row per class: images (pixels), correct, recall, precision, F1, IoU,
 *                  and for a segmentation Boundary IoU
 *   confusion.csv  a row per label class, a column per predicted class
 *   confusion.png  the same as an image; darker means a larger fraction of the row. Rows and
 *                  columns have the order of classes.csv, max(720 / K, 1) pixels each, and
 *                  no text
 *   pairs.csv      the pairs of classes that are confused most often
 *   worst.csv      the images with the largest loss
 *
 * Segmentation counts pixels, without calibration and worst images. MODEL_MULTILABEL has
 * only report.json and labels.csv, MODEL_REGRESSION report.json and targets.csv. There is no confusion matrix with more than
 * REPORT_CLASSES classes.
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
    double confidence; /* mean; 0 for an empty bin */
};

struct multilabel_scores;
struct regression_scores;
struct segmentation;

struct report {
    const struct dataset *data; /* names the images */
    const struct class_list *classes;
    const struct multilabel_scores *sets;   /* NULL unless MODEL_MULTILABEL */
    const struct regression_scores *values; /* NULL unless MODEL_REGRESSION */
    const struct segmentation *pixels;      /* NULL unless MODEL_SEGMENT */
    const char *model, *weights; /* for report.json; weights: "EMA" or "as they are" */
    int64_t *matrix;             /* [label * K + answer]; NULL if too many classes */
    struct report_class {
        int64_t n, taken, right;
    } * class_counts;
    struct report_item {
        int64_t sample;
        int32_t label, answer;
        float confidence, of_label; /* probabilities of the answer and of the label */
        double loss;
    } * item;
    int64_t n, cap;
};

void report_init(struct report *r, const struct dataset *d,
                 const struct class_list *classes);
void report_release(struct report *r);

/* Adds an image; logits: one per class. */
void report_add(struct report *r, int64_t sample, int32_t label, const float *logits);
/* Adds the pixels of a segmentation, instead of images. */
void report_take_matrix(struct report *r, const int64_t *matrix);

/* Gives every process the images that all processes added, in the order of the data set.
 * All must call it. */
void report_gather(struct report *r);

/* Fills the bins. Returns the expected calibration error, or NaN without images. */
double report_calibration(const struct report *r, struct report_bin bin[REPORT_BINS]);

/* Returns NULL if a report can be written to `dir`, which is missing, empty, or has a
 * report, else the reason. Call before the evaluation. */
const char *report_refuse(const char *dir);
void report_write(struct report *r, const char *dir);

#endif
