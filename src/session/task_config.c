#include "session/task_config.h"

#include "config/choice_tables.h"
#include "ops/multilabel_formula.h"
#include "session/simmim.h"

const char *task_name(enum model_task task)
{
    static const int value[MODEL_TASKS] = {
        [MODEL_MULTILABEL] = TASK_MULTILABEL,
        [MODEL_REGRESSION] = TASK_REGRESSION,
        [MODEL_ORDINAL] = TASK_ORDINAL,
        [MODEL_SIMMIM] = TASK_SIMMIM,
    };

    return choices_tasks[value[task]].name;
}

void task_check_single(const struct config *cfg, bool weights, struct problems *p)
{
    const struct float_list *w = &cfg->train.class_weights;
    const struct {
        const char *key;
        bool set;
        const char *hint;
    } single[] = {
        {"TRAIN.CLASS_WEIGHTS", !weights && (w->item || w->n != CLASS_WEIGHTS_NONE),
         cfg->model.task == TASK_MULTILABEL ? " (TRAIN.LOSS.POS_WEIGHT)" : ""},
        {"TRAIN.LOSS.LOGIT_ADJUST", !weights && cfg->train.loss.logit_adjust > 0, ""},
        {"TRAIN.LOSS.TARGET_THRESH", cfg->train.loss.target_thresh.has, ""},
        {"QUANT.ENABLE", cfg->quant.enable, ""},
    };

    for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++)
        if (single[i].set)
            config_blame(cfg, p, KEYS(single[i].key),
                         "%s cannot be combined with MODEL.TASK %s%s", single[i].key,
                         choices_tasks[cfg->model.task].name, single[i].hint);
}

static void check_multilabel(const struct config *cfg, struct problems *p)
{
    const struct float_list *pos = &cfg->train.loss.pos_weight;
    int numbers = pos->item ? pos->n : 0;

    task_check_single(cfg, false, p);
    if (cfg->train.validate == VALIDATE_BACKGROUND)
        config_blame(
            cfg, p, KEYS("TRAIN.VALIDATE"),
            "TRAIN.VALIDATE background cannot be combined with MODEL.TASK multilabel: "
            "its checkpoints need the thresholds of the validation");
    if (numbers > 1 && numbers != cfg->model.num_classes &&
        config_origin(cfg, "MODEL.NUM_CLASSES"))
        config_blame(
            cfg, p, KEYS("TRAIN.LOSS.POS_WEIGHT"),
            "TRAIN.LOSS.POS_WEIGHT has %d numbers, and MODEL.NUM_CLASSES is %lld",
            numbers, (long long)cfg->model.num_classes);
    if (numbers > MULTILABEL_WEIGHTS)
        config_blame(cfg, p, KEYS("TRAIN.LOSS.POS_WEIGHT"),
                     "TRAIN.LOSS.POS_WEIGHT works for at most %d classes",
                     MULTILABEL_WEIGHTS);
}

static void check_regression(const struct config *cfg, struct problems *p)
{
    task_check_single(cfg, false, p);
    config_warn_unread(cfg, p, "MODEL.LABEL_SMOOTHING",
                       "MODEL.TASK regression has no classes to smooth");
}

static void check_ordinal(const struct config *cfg, struct problems *p)
{
    int64_t n = cfg->model.num_classes;

    task_check_single(cfg, true, p);
    if (config_origin(cfg, "MODEL.NUM_CLASSES") && (n < 2 || n > ORDINAL_CLASSES))
        config_blame(cfg, p, KEYS("MODEL.NUM_CLASSES", "MODEL.TASK"),
                     "MODEL.TASK ordinal works for 2 to %d classes, and "
                     "MODEL.NUM_CLASSES is %lld",
                     ORDINAL_CLASSES, (long long)n);
}

void task_check(const struct config *cfg, const struct model *m, struct problems *p)
{
    const struct float_list *pos = &cfg->train.loss.pos_weight;
    static void (*const check[])(const struct config *cfg, struct problems *p) = {
        [TASK_MULTILABEL] = check_multilabel,
        [TASK_REGRESSION] = check_regression,
        [TASK_ORDINAL] = check_ordinal,
        [TASK_SIMMIM] = simmim_check,
    };

    if (cfg->model.task != TASK_MULTILABEL &&
        (pos->item ? pos->n > 0 : pos->n != POS_WEIGHT_NONE))
        config_blame(cfg, p, KEYS("TRAIN.LOSS.POS_WEIGHT"),
                     "TRAIN.LOSS.POS_WEIGHT needs MODEL.TASK multilabel");
    if (cfg->model.task != TASK_SIMMIM)
        simmim_warn_unread(cfg, p);
    else if (m && !m->family->masks)
        config_blame(cfg, p, KEYS("MODEL.TASK", "MODEL.NAME"),
                     "MODEL.TASK simmim: %s has no mask tokens (MODEL.TYPE swin, swinv2, "
                     "and vit have)",
                     cfg->model.name);
    if (!check[cfg->model.task])
        return;
    if (m && m->family->task == MODEL_SEGMENT)
        config_blame(cfg, p, KEYS("MODEL.TASK"),
                     "MODEL.TASK %s is for whole images, and %s labels pixels",
                     choices_tasks[cfg->model.task].name, cfg->model.name);
    check[cfg->model.task](cfg, p);
}
