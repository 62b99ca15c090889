/* Rules between keys. Each names the key that is to blame and what set it. */
#include <string.h>

#include "config/config.h"
#include "config/problems.h"

static void check_amp(const struct config *cfg, struct problems *p)
{
    const char *enable = config_where(cfg, "AMP_ENABLE");
    const char *const *keys = KEYS("AMP_OPT_LEVEL", "AMP_ENABLE");

    if (cfg->amp_opt_level == AMP_OPT_LEVEL_EMPTY)
        return;
    if (!cfg->amp_enable && cfg->amp_opt_level > AMP_OPT_LEVEL_O0)
        config_blame(cfg, p, keys, "AMP_OPT_LEVEL O%d contradicts AMP_ENABLE False (%s)",
                     cfg->amp_opt_level, enable ? enable : "default");
    if (cfg->amp_enable && enable && cfg->amp_opt_level == AMP_OPT_LEVEL_O0)
        config_blame(cfg, p, keys, "AMP_OPT_LEVEL O0 contradicts AMP_ENABLE True (%s)",
                     enable);
}

/* An overflow would raise the scale. */
static void check_scale(const struct config *cfg, struct problems *p)
{
    if (cfg->amp.min_scale > cfg->amp.init_scale)
        config_blame(cfg, p, KEYS("AMP.MIN_SCALE", "AMP.INIT_SCALE"),
                     "AMP.MIN_SCALE (%g) is more than AMP.INIT_SCALE (%g)",
                     cfg->amp.min_scale, cfg->amp.init_scale);
}

static void check_ordered(const struct config *cfg, const char *key,
                          const struct float_list *l, struct problems *p)
{
    if (l->item && l->n == 2 && !(l->item[0] <= l->item[1]))
        config_blame(cfg, p, KEYS(key), "%s must be [least, largest]", key);
}

static void check_milestones(const struct config *cfg, struct problems *p)
{
    const struct int_list *steps = &cfg->train.lr_scheduler.multisteps;
    const char *const *keys = KEYS("TRAIN.LR_SCHEDULER.MULTISTEPS",
                                   "TRAIN.LR_SCHEDULER.NAME", "TRAIN.WARMUP_EPOCHS");

    if (cfg->train.lr_scheduler.name != LR_SCHEDULER_MULTISTEP)
        return;
    if (!steps->n || steps->n > MULTISTEPS_MAX)
        config_blame(cfg, p, KEYS(keys[0], keys[1]),
                     "TRAIN.LR_SCHEDULER.MULTISTEPS has %d milestones, multistep needs 1 "
                     "to %d",
                     steps->n, MULTISTEPS_MAX);
    for (int i = 1; i < steps->n; i++)
        if (steps->item[i] <= steps->item[i - 1])
            config_blame(cfg, p, KEYS(keys[0]),
                         "TRAIN.LR_SCHEDULER.MULTISTEPS must grow");
    if (steps->n && cfg->train.warmup_epochs > steps->item[0])
        config_blame(cfg, p, keys,
                     "the first of TRAIN.LR_SCHEDULER.MULTISTEPS (%lld) lies within the "
                     "warm-up of %lld epochs",
                     (long long)steps->item[0], (long long)cfg->train.warmup_epochs);
}

static void check_schedule(const struct config *cfg, struct problems *p)
{
    /* onecycle has a warm-up of its own */
    if (cfg->train.warmup_epochs > cfg->train.epochs &&
        cfg->train.lr_scheduler.name != LR_SCHEDULER_ONECYCLE)
        config_blame(cfg, p, KEYS("TRAIN.WARMUP_EPOCHS", "TRAIN.EPOCHS"),
                     "TRAIN.WARMUP_EPOCHS (%lld) is more than TRAIN.EPOCHS (%lld)",
                     (long long)cfg->train.warmup_epochs, (long long)cfg->train.epochs);
    if (cfg->train.start_epoch && cfg->train.start_epoch >= cfg->train.epochs)
        config_blame(cfg, p, KEYS("TRAIN.START_EPOCH", "TRAIN.EPOCHS"),
                     "TRAIN.START_EPOCH (%lld) is %s TRAIN.EPOCHS (%lld)",
                     (long long)cfg->train.start_epoch,
                     cfg->train.start_epoch > cfg->train.epochs ? "more than" : "all of",
                     (long long)cfg->train.epochs);
    check_milestones(cfg, p);
}

/* At 1, Adam divides by zero. */
static void check_betas(const struct config *cfg, struct problems *p)
{
    const struct float_list *betas = &cfg->train.optimizer.betas;

    for (int i = 0; i < betas->n; i++)
        if (!(betas->item[i] < 1))
            config_blame(cfg, p, KEYS("TRAIN.OPTIMIZER.BETAS"),
                         "TRAIN.OPTIMIZER.BETAS must be below 1");
}

/* Somebody has set a key that nothing reads. */
static void check_read(const struct config *cfg, struct problems *p, const char *key,
                       bool read, const char *why)
{
    const char *where = config_where(cfg, key);

    if (!read && where && !config_is_default(cfg, key))
        problems_warn(p, where, "%s has no effect: %s", key, why);
}

static void check_optimizer_keys(const struct config *cfg, struct problems *p)
{
    int name = cfg->train.optimizer.name;
    bool adam = name == OPTIMIZER_ADAM || name == OPTIMIZER_ADAMW;
    static const char why[] = "this TRAIN.OPTIMIZER.NAME does not read it";

    check_read(cfg, p, "TRAIN.OPTIMIZER.BETAS", adam, why);
    check_read(cfg, p, "TRAIN.OPTIMIZER.MOMENTUM", !adam, why);
    check_read(cfg, p, "TRAIN.OPTIMIZER.NESTEROV", name == OPTIMIZER_SGD, why);
    check_read(cfg, p, "TRAIN.OPTIMIZER.ALPHA", name == OPTIMIZER_RMSPROP, why);
}

static void check_scheduler_keys(const struct config *cfg, struct problems *p)
{
    static const struct {
        const char *key;
        int name;
    } row[] = {
        {"TRAIN.LR_SCHEDULER.DECAY_EPOCHS", LR_SCHEDULER_STEP},
        {"TRAIN.LR_SCHEDULER.DECAY_RATE", LR_SCHEDULER_STEP},
        {"TRAIN.LR_SCHEDULER.GAMMA", LR_SCHEDULER_MULTISTEP},
        {"TRAIN.LR_SCHEDULER.MULTISTEPS", LR_SCHEDULER_MULTISTEP},
        {"TRAIN.LR_SCHEDULER.POWER", LR_SCHEDULER_POLY},
        {"TRAIN.LR_SCHEDULER.PCT_START", LR_SCHEDULER_ONECYCLE},
        {"TRAIN.LR_SCHEDULER.DIV_FACTOR", LR_SCHEDULER_ONECYCLE},
        {"TRAIN.LR_SCHEDULER.FINAL_DIV_FACTOR", LR_SCHEDULER_ONECYCLE},
    };

    static const char why[] = "this TRAIN.LR_SCHEDULER.NAME does not read it";
    int name = cfg->train.lr_scheduler.name;
    bool decays = name == LR_SCHEDULER_COSINE || name == LR_SCHEDULER_POLY;

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
        check_read(cfg, p, row[i].key, name == row[i].name, why);
    check_read(cfg, p, "TRAIN.MIN_LR", decays, why);
    check_read(cfg, p, "TRAIN.LR_SCHEDULER.WARMUP_PREFIX", decays, why);
    check_read(cfg, p, "TRAIN.WARMUP_LR", name != LR_SCHEDULER_ONECYCLE, why);
}

static void check_scaler_keys(const struct config *cfg, struct problems *p)
{
    static const char *const key[] = {"AMP.INIT_SCALE", "AMP.GROWTH_FACTOR",
                                      "AMP.BACKOFF_FACTOR", "AMP.GROWTH_INTERVAL",
                                      "AMP.MIN_SCALE"};
    bool half = cfg->amp_enable && cfg->amp.dtype != AMP_DTYPE_BF16;
    bool dynamic = !strcmp(cfg->amp.loss_scale, "dynamic");

    for (size_t i = 0; i < sizeof(key) / sizeof(key[0]); i++)
        check_read(cfg, p, key[i], half && dynamic,
                   half ? "AMP.LOSS_SCALE is a number" : "only fp16 has a loss scale");
}

static void check_unread(const struct config *cfg, struct problems *p)
{
    static const char average[] = "TRAIN.EMA.ENABLE is False";
    static const char whole[] = "a data set is read whole; only DATA.DATASET synthetic "
                                "has as many as are asked for";
    bool made_up = !strcmp(cfg->data.dataset, "synthetic");
    bool counts = !cfg->train.class_weights.item &&
                  cfg->train.class_weights.n == CLASS_WEIGHTS_AUTO;

    check_optimizer_keys(cfg, p);
    check_scheduler_keys(cfg, p);
    check_scaler_keys(cfg, p);
    check_read(cfg, p, "TRAIN.EMA.DECAY", cfg->train.ema.enable, average);
    check_read(cfg, p, "TRAIN.EMA.RAMP_STEPS", cfg->train.ema.enable, average);
    check_read(cfg, p, "TRAIN.EMA.DEVICE", cfg->train.ema.enable, average);
    check_read(cfg, p, "TRAIN.CLASS_WEIGHTS_C", counts,
               "TRAIN.CLASS_WEIGHTS is not auto");
    check_read(cfg, p, "DATA.TRAIN_NUM_SAMPLES", made_up, whole);
    check_read(cfg, p, "DATA.VAL_NUM_SAMPLES", made_up, whole);
}

void config_check_rules(const struct config *cfg, struct problems *p)
{
    check_amp(cfg, p);
    check_scale(cfg, p);
    check_schedule(cfg, p);
    check_betas(cfg, p);
    check_ordered(cfg, "AUG.SCALE", &cfg->aug.scale, p);
    check_ordered(cfg, "AUG.RESIZE_SCALE", &cfg->aug.resize_scale, p);
    check_ordered(cfg, "AUG.RATIO", &cfg->aug.ratio, p);
    check_ordered(cfg, "AUG.CUTMIX_MINMAX", &cfg->aug.cutmix_minmax, p);
    if (!p->nerror)
        check_unread(cfg, p);
}
