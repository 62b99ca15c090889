/* Rules between keys. Each names the key that is to blame and what set it. */
#include <string.h>

#include "config/config.h"
#include "config/problems.h"

/* config_settle() has left what one source says. */
static void check_amp(const struct config *cfg, struct problems *p)
{
    const char *enable = config_where(cfg, "AMP_ENABLE");

    if (cfg->amp_opt_level != AMP_OPT_LEVEL_EMPTY &&
        cfg->amp_enable != (cfg->amp_opt_level > AMP_OPT_LEVEL_O0))
        config_blame(cfg, p, KEYS("AMP_OPT_LEVEL", "AMP_ENABLE"),
                     "AMP_OPT_LEVEL O%d contradicts AMP_ENABLE %s (%s)",
                     cfg->amp_opt_level, cfg->amp_enable ? "True" : "False",
                     enable ? enable : "default");
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

/* At 1 nothing new is ever taken, and 1 - beta is divided by. */
static void check_decays(const struct config *cfg, struct problems *p)
{
    const struct float_list *betas = &cfg->train.optimizer.betas;

    for (int i = 0; i < betas->n; i++)
        if (!(betas->item[i] < 1))
            config_blame(cfg, p, KEYS("TRAIN.OPTIMIZER.BETAS"),
                         "TRAIN.OPTIMIZER.BETAS must be below 1");
    if (!(cfg->train.optimizer.alpha < 1))
        config_blame(cfg, p, KEYS("TRAIN.OPTIMIZER.ALPHA"),
                     "TRAIN.OPTIMIZER.ALPHA must be below 1");
}

void config_check_rules(const struct config *cfg, struct problems *p)
{
    check_amp(cfg, p);
    check_scale(cfg, p);
    check_schedule(cfg, p);
    check_decays(cfg, p);
    check_ordered(cfg, "AUG.SCALE", &cfg->aug.scale, p);
    check_ordered(cfg, "AUG.RESIZE_SCALE", &cfg->aug.resize_scale, p);
    check_ordered(cfg, "AUG.RATIO", &cfg->aug.ratio, p);
    check_ordered(cfg, "AUG.CUTMIX_MINMAX", &cfg->aug.cutmix_minmax, p);
    if (!p->nerror)
        config_check_unread(cfg, p);
}
