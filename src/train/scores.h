/*
 * What an evaluation measures, as a list of numbers with names. A name follows
 * "val_" or "ema_" (the EMA weights) in logs, files and checkpoints.
 *
 * Classification: loss, top1 and top5 in percent; for up to CLASS_SCORES_MOST classes
 * balanced_acc, f1_macro, mcc, and auroc as shares of 1, see train/class_scores.h, of the
 * EMA weights if there are some, else of the raw ones. Segmentation: loss, acc, class_acc,
 * miou, mdice, and fwiou as shares of 1, see train/segmentation.h. Several labels per
 * image: loss, map, f1_micro, f1_macro, and auroc, see train/multilabel.h.
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
    SCORES
};

struct scores {
    double value[SCORES]; /* NaN: not known */
};

struct scores scores_unknown(void);
const char *score_name(enum score k); /* "top1" */
bool score_of_task(enum score k, enum model_task task);
/* The score that chooses the best checkpoint: TRAIN.BEST_METRIC, or that of the task. */
enum score score_best(const struct config *cfg, enum model_task task);
/* True if a is better than b: larger, or smaller for a loss. NaN is never better, and any
 * number is better than NaN or a negative b, which stands for no score. */
bool score_is_better(enum score k, double a, double b);
/* Reports a TRAIN.BEST_METRIC of the other task. */
void score_check(const struct config *cfg, enum model_task task, struct problems *p);

/* Appends "Acc@1 87.210 Acc@5 99.500", the second if it is known. Returns out->buf. */
const char *scores_add_top(struct strbuf *out, const struct scores *s);

/* PREFIXname of all scores; what is not known is null. Missing keys are not known. */
void scores_put(struct json_writer *w, const char *prefix, const struct scores *s);
struct scores scores_get(const json_t *object, const char *prefix);

#endif
