/*
 * What an evaluation measures, as a list of numbers with names. A name follows
 * "val_" or "ema_" (the EMA weights) in logs, files and checkpoints.
 *
 * Classification: loss, top1 and top5 in percent. Segmentation: loss, acc, class_acc,
 * miou and fwiou as shares of 1, see train/segmentation.h.
 */
#ifndef TRAIN_SCORES_H
#define TRAIN_SCORES_H

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
    SCORES
};

struct scores {
    double value[SCORES]; /* NaN: not known */
};

struct scores scores_unknown(void);
const char *score_name(enum score k); /* "top1" */
bool score_of_task(enum score k, enum model_task task);
enum score
score_best(enum model_task task); /* the one that chooses the best checkpoint */

/* Appends "Acc@1 87.210 Acc@5 99.500", the second if it is known. Returns out->buf. */
const char *scores_add_top(struct strbuf *out, const struct scores *s);

/* PREFIXname of all scores; what is not known is null. Missing keys are not known. */
void scores_put(struct json_writer *w, const char *prefix, const struct scores *s);
struct scores scores_get(const json_t *object, const char *prefix);

#endif
