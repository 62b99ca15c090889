/*
 * The scores of an evaluation, a list of named numbers. In logs, files, and checkpoints,
 * the prefix of a name is "val_" or, for the EMA weights, "ema_".
 *
 * Classification: loss; top1 and top5 in percent; with up to CLASS_SCORES_MAX classes
 * also balanced_acc, f1_macro, mcc, and auroc (train/class_scores.h) as fractions, of the
 * EMA weights if there are any, else of the weights. Segmentation: loss, and acc,
 * class_acc, miou, mdice, and fwiou (train/segmentation.h) as fractions, and boundary_iou
 * (train/boundary.h), of the EMA weights if there are any, if it is computed. Several labels
 * per image: loss, map, f1_micro, f1_macro, and auroc (train/multilabel.h). Regression:
 * loss, and mae, rmse, and r2 as means over the targets (train/regression.h). Ordered
 * classes: those of a classification, and mae and kappa (train/ordinal.h).
 */
#ifndef TRAIN_SCORES_H
#define TRAIN_SCORES_H

#include "config/config.h"
#include "config/problems.h"
#include "io/json.h"
#include "models/table.h"

enum score {
    SCORE_LOSS,
    SCORE_TOP1,
    SCORE_TOP5,
    SCORE_ACC,
    SCORE_CLASS_ACC,
    SCORE_MIOU,
    SCORE_FWIOU,
    SCORE_BALANCED_ACC,
    SCORE_F1_MACRO,
    SCORE_MCC,
    SCORE_AUROC,
    SCORE_MDICE,
    SCORE_MAP,
    SCORE_F1_MICRO,
    SCORE_MAE,
    SCORE_RMSE,
    SCORE_R2,
    SCORE_KAPPA,
    SCORE_BOUNDARY_IOU,
    SCORES
};

struct scores {
    double value[SCORES]; /* NaN if unknown */
};

struct scores scores_unknown(void);
const char *score_name(enum score k); /* "top1" */
bool score_of_task(enum score k, enum model_task task);
/* Returns the score of a task that selects the best checkpoint by default. */
enum score score_of_task_best(enum model_task task);
/* Returns the score that selects the best checkpoint: TRAIN.BEST_METRIC, or the
 * task's. */
enum score score_best(const struct config *cfg, enum model_task task);
/* True if smaller values are better: of losses and errors. */
bool score_falls(enum score k);
/* Returns a number that rises as score `x` improves, above 0 for losses, errors, and R2,
 * which is negative for values that are worse than the mean. */
double score_rising(enum score k, double x);
/* True if a is better than b: larger, or smaller if score_falls(). NaN is never better, and any
 * number is better than NaN. */
bool score_is_better(enum score k, double a, double b);
/* Reports a TRAIN.BEST_METRIC that the task does not have. */
void score_check(const struct config *cfg, enum model_task task, struct problems *p);

/* Appends "Acc@1 87.210 Acc@5 99.500" (Acc@5 only if known), or for several labels per
 * image "mAP ...", for a regression "R2 ...", each with its other scores. Returns
 * out->buf. */
const char *scores_add_top(struct strbuf *out, const struct scores *s);

/* Writes or reads PREFIXname for all scores: null for NaN, and NaN for missing keys. */
void scores_put(struct json_writer *w, const char *prefix, const struct scores *s);
struct scores scores_get(const json_t *object, const char *prefix);

#endif
