#include "train/scores.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "train/class_scores.h"

static const struct {
    const char *name;
    bool task[MODEL_TASKS]; /* by enum model_task */
} table[SCORES] = {
    [SCORE_LOSS] = {"loss", {true, true, true}},
    [SCORE_TOP1] = {"top1", {true}},
    [SCORE_TOP5] = {"top5", {true}},
    [SCORE_ACC] = {"acc", {false, true}},
    [SCORE_CLASS_ACC] = {"class_acc", {false, true}},
    [SCORE_MIOU] = {"miou", {false, true}},
    [SCORE_FWIOU] = {"fwiou", {false, true}},
    [SCORE_BALANCED_ACC] = {"balanced_acc", {true}},
    [SCORE_F1_MACRO] = {"f1_macro", {true, false, true}},
    [SCORE_MCC] = {"mcc", {true}},
    [SCORE_AUROC] = {"auroc", {true, false, true}},
    [SCORE_MDICE] = {"mdice", {false, true}},
    [SCORE_MAP] = {"map", {false, false, true}},
    [SCORE_F1_MICRO] = {"f1_micro", {false, false, true}},
};

struct scores scores_unknown(void)
{
    struct scores s;

    for (int i = 0; i < SCORES; i++)
        s.value[i] = (double)NAN;
    return s;
}

const char *score_name(enum score k)
{
    return table[k].name;
}

bool score_of_task(enum score k, enum model_task task)
{
    return table[k].task[task];
}

_Static_assert((int)BEST_LOSS == (int)SCORE_LOSS + 1 &&
                   (int)BEST_TOP5 == (int)SCORE_TOP5 + 1 &&
                   (int)BEST_MIOU == (int)SCORE_MIOU + 1 &&
                   (int)BEST_FWIOU == (int)SCORE_FWIOU + 1 &&
                   (int)BEST_MDICE == (int)SCORE_MDICE + 1 &&
                   (int)BEST_F1_MICRO == (int)SCORE_F1_MICRO + 1,
               "TRAIN.BEST_METRIC lists the scores in their order");

enum score score_best(const struct config *cfg, enum model_task task)
{
    if (cfg->train.best_metric != BEST_AUTO)
        return (enum score)(cfg->train.best_metric - 1);
    return task == MODEL_SEGMENT      ? SCORE_MIOU
           : task == MODEL_MULTILABEL ? SCORE_MAP
                                      : SCORE_TOP1;
}

bool score_is_better(enum score k, double a, double b)
{
    if (isnan(a))
        return false;
    if (isnan(b))
        return true;
    return k == SCORE_LOSS ? a < b : a > b;
}

void score_check(const struct config *cfg, enum model_task task, struct problems *p)
{
    enum score k = score_best(cfg, task);

    if (!score_of_task(k, task))
        config_blame(cfg, p, KEYS("TRAIN.BEST_METRIC"),
                     "TRAIN.BEST_METRIC %s is a score of %s, and %s %s", table[k].name,
                     table[k].task[MODEL_SEGMENT]    ? "label maps"
                     : table[k].task[MODEL_CLASSIFY] ? "whole images"
                                                     : "MODEL.TASK multilabel",
                     cfg->model.name,
                     task == MODEL_SEGMENT      ? "labels pixels"
                     : task == MODEL_MULTILABEL ? "has MODEL.TASK multilabel"
                                                : "classifies whole images");
    else if (task == MODEL_CLASSIFY && k >= SCORE_BALANCED_ACC && k <= SCORE_AUROC &&
             cfg->model.num_classes > CLASS_SCORES_MAX)
        config_blame(cfg, p, KEYS("TRAIN.BEST_METRIC"),
                     "TRAIN.BEST_METRIC %s is computed for at most %d classes, and "
                     "MODEL.NUM_CLASSES is %lld",
                     table[k].name, CLASS_SCORES_MAX, (long long)cfg->model.num_classes);
}

const char *scores_add_top(struct strbuf *out, const struct scores *s)
{
    if (isnan(s->value[SCORE_TOP1]) && isnan(s->value[SCORE_MAP]))
        return out->buf; /* multilabel: only the EMA weights have these scores */
    if (!isnan(s->value[SCORE_MAP])) {
        strbuf_addf(out, "mAP %.4f micro F1 %.4f macro F1 %.4f AUROC %.4f",
                    s->value[SCORE_MAP], s->value[SCORE_F1_MICRO],
                    s->value[SCORE_F1_MACRO], s->value[SCORE_AUROC]);
        return out->buf;
    }
    strbuf_addf(out, "Acc@1 %.3f", s->value[SCORE_TOP1]);
    if (!isnan(s->value[SCORE_TOP5]))
        strbuf_addf(out, " Acc@5 %.3f", s->value[SCORE_TOP5]);
    return out->buf;
}

void scores_put(struct json_writer *w, const char *prefix, const struct scores *s)
{
    for (int i = 0; i < SCORES; i++) {
        char *key = xasprintf("%s%s", prefix, table[i].name);

        json_put_double(w, key, s->value[i]);
        free(key);
    }
}

struct scores scores_get(const json_t *object, const char *prefix)
{
    struct scores s = scores_unknown();

    for (int i = 0; i < SCORES; i++) {
        char *key = xasprintf("%s%s", prefix, table[i].name);
        const json_t *v = json_object_get(object, key);

        if (json_is_number(v))
            s.value[i] = json_number_value(v);
        free(key);
    }
    return s;
}
