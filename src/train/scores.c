#include "train/scores.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "session/task_config.h"
#include "train/class_scores.h"

#define OF(task) (1u << MODEL_##task)

static const struct {
    const char *name;
    unsigned tasks; /* a bit per enum model_task */
    bool falls;     /* smaller is better */
} table[SCORES] = {
    [SCORE_LOSS] = {"loss", ~0u, true},
    [SCORE_TOP1] = {"top1", OF(CLASSIFY) | OF(ORDINAL), false},
    [SCORE_TOP5] = {"top5", OF(CLASSIFY) | OF(ORDINAL), false},
    [SCORE_ACC] = {"acc", OF(SEGMENT), false},
    [SCORE_CLASS_ACC] = {"class_acc", OF(SEGMENT), false},
    [SCORE_MIOU] = {"miou", OF(SEGMENT), false},
    [SCORE_FWIOU] = {"fwiou", OF(SEGMENT), false},
    [SCORE_BALANCED_ACC] = {"balanced_acc", OF(CLASSIFY) | OF(ORDINAL), false},
    [SCORE_F1_MACRO] = {"f1_macro", OF(CLASSIFY) | OF(ORDINAL) | OF(MULTILABEL), false},
    [SCORE_MCC] = {"mcc", OF(CLASSIFY) | OF(ORDINAL), false},
    [SCORE_AUROC] = {"auroc", OF(CLASSIFY) | OF(ORDINAL) | OF(MULTILABEL), false},
    [SCORE_MDICE] = {"mdice", OF(SEGMENT), false},
    [SCORE_MAP] = {"map", OF(MULTILABEL), false},
    [SCORE_F1_MICRO] = {"f1_micro", OF(MULTILABEL), false},
    [SCORE_MAE] = {"mae", OF(REGRESSION) | OF(ORDINAL), true},
    [SCORE_RMSE] = {"rmse", OF(REGRESSION), true},
    [SCORE_R2] = {"r2", OF(REGRESSION), false},
    [SCORE_KAPPA] = {"kappa", OF(ORDINAL), false},
    [SCORE_BOUNDARY_IOU] = {"boundary_iou", OF(SEGMENT), false},
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
    return table[k].tasks & (1u << task);
}

bool score_falls(enum score k)
{
    return table[k].falls;
}

_Static_assert((int)BEST_LOSS == (int)SCORE_LOSS + 1 &&
                   (int)BEST_TOP5 == (int)SCORE_TOP5 + 1 &&
                   (int)BEST_MIOU == (int)SCORE_MIOU + 1 &&
                   (int)BEST_FWIOU == (int)SCORE_FWIOU + 1 &&
                   (int)BEST_MDICE == (int)SCORE_MDICE + 1 &&
                   (int)BEST_F1_MICRO == (int)SCORE_F1_MICRO + 1 &&
                   (int)BEST_KAPPA == (int)SCORE_KAPPA + 1 &&
                   (int)BEST_BOUNDARY_IOU == (int)SCORE_BOUNDARY_IOU + 1,
               "TRAIN.BEST_METRIC lists the scores in their order");

static const enum score score_of_best[MODEL_TASKS] = {
    [MODEL_CLASSIFY] = SCORE_TOP1,  [MODEL_SEGMENT] = SCORE_MIOU,
    [MODEL_MULTILABEL] = SCORE_MAP, [MODEL_REGRESSION] = SCORE_R2,
    [MODEL_ORDINAL] = SCORE_KAPPA,  [MODEL_SIMMIM] = SCORE_LOSS,
};

enum score score_of_task_best(enum model_task task)
{
    return score_of_best[task];
}

enum score score_best(const struct config *cfg, enum model_task task)
{
    if (cfg->train.best_metric != BEST_AUTO)
        return (enum score)(cfg->train.best_metric - 1);
    return score_of_best[task];
}

double score_rising(enum score k, double x)
{
    return k == SCORE_R2 ? 1 / (1 - x) : table[k].falls ? 1 / x : x;
}

bool score_is_better(enum score k, double a, double b)
{
    if (isnan(a))
        return false;
    if (isnan(b))
        return true;
    return table[k].falls ? a < b : a > b;
}

/* Returns what has the score, for messages. */
static const char *owner_of(enum score k)
{
    return score_of_task(k, MODEL_SEGMENT)       ? "label maps"
           : score_of_task(k, MODEL_CLASSIFY)    ? "whole images"
           : score_of_task(k, MODEL_MULTILABEL)  ? "MODEL.TASK multilabel"
           : !score_of_task(k, MODEL_REGRESSION) ? "MODEL.TASK ordinal"
           : score_of_task(k, MODEL_ORDINAL)     ? "MODEL.TASK regression and ordinal"
                                                 : "MODEL.TASK regression";
}

void score_check(const struct config *cfg, enum model_task task, struct problems *p)
{
    enum score k = score_best(cfg, task);

    if (!score_of_task(k, task))
        config_blame(cfg, p, KEYS("TRAIN.BEST_METRIC"),
                     "TRAIN.BEST_METRIC %s is a score of %s, and %s %s%s", table[k].name,
                     owner_of(k), cfg->model.name,
                     task == MODEL_SEGMENT    ? "labels pixels"
                     : task == MODEL_CLASSIFY ? "classifies whole images"
                                              : "has MODEL.TASK ",
                     task > MODEL_SEGMENT ? task_name(task) : "");
    else if (task == MODEL_CLASSIFY && k >= SCORE_BALANCED_ACC && k <= SCORE_AUROC &&
             cfg->model.num_classes > CLASS_SCORES_MAX)
        config_blame(cfg, p, KEYS("TRAIN.BEST_METRIC"),
                     "TRAIN.BEST_METRIC %s is computed for at most %d classes, and "
                     "MODEL.NUM_CLASSES is %lld",
                     table[k].name, CLASS_SCORES_MAX, (long long)cfg->model.num_classes);
}

const char *scores_add_top(struct strbuf *out, const struct scores *s)
{
    if (isnan(s->value[SCORE_TOP1]) && isnan(s->value[SCORE_MAP]) &&
        isnan(s->value[SCORE_MAE]))
        return out->buf; /* only the EMA weights have these scores */
    if (isnan(s->value[SCORE_TOP1]) && isnan(s->value[SCORE_MAP])) {
        strbuf_addf(out, "R2 %.4f RMSE %.5g MAE %.5g", s->value[SCORE_R2],
                    s->value[SCORE_RMSE], s->value[SCORE_MAE]);
        return out->buf;
    }
    if (!isnan(s->value[SCORE_MAP])) {
        strbuf_addf(out, "mAP %.4f micro F1 %.4f macro F1 %.4f AUROC %.4f",
                    s->value[SCORE_MAP], s->value[SCORE_F1_MICRO],
                    s->value[SCORE_F1_MACRO], s->value[SCORE_AUROC]);
        return out->buf;
    }
    strbuf_addf(out, "Acc@1 %.3f", s->value[SCORE_TOP1]);
    if (!isnan(s->value[SCORE_TOP5]))
        strbuf_addf(out, " Acc@5 %.3f", s->value[SCORE_TOP5]);
    if (!isnan(s->value[SCORE_MAE]))
        strbuf_addf(out, " kappa %.4f MAE %.4f", s->value[SCORE_KAPPA],
                    s->value[SCORE_MAE]);
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
