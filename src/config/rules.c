/* Rules across keys. Each reports the offending key and its origin. */
#include <string.h>

#include "config/config.h"
#include "config/problems.h"

/* Contradictions that config_settle() left: those within a source. */
static void check_amp(const struct config *cfg, struct problems *p)
{
    const char *enable = config_origin(cfg, "AMP_ENABLE");

    if (cfg->amp_opt_level != AMP_OPT_LEVEL_EMPTY &&
        cfg->amp_enable != (cfg->amp_opt_level > AMP_OPT_LEVEL_O0))
        config_blame(cfg, p, KEYS("AMP_OPT_LEVEL", "AMP_ENABLE"),
                     "AMP_OPT_LEVEL O%d contradicts AMP_ENABLE %s (%s)",
                     cfg->amp_opt_level, cfg->amp_enable ? "True" : "False",
                     enable ? enable : "default");
}

/* MIN_SCALE above INIT_SCALE would make an overflow raise the scale. */
static void check_scale(const struct config *cfg, struct problems *p)
{
    if (cfg->amp.min_scale > cfg->amp.init_scale)
        config_blame(cfg, p, KEYS("AMP.MIN_SCALE", "AMP.INIT_SCALE"),
                     "AMP.MIN_SCALE (%g) is larger than AMP.INIT_SCALE (%g)",
                     cfg->amp.min_scale, cfg->amp.init_scale);
}

static void check_ordered(const struct config *cfg, const char *key,
                          const struct float_list *l, struct problems *p)
{
    if (l->item && l->n == 2 && !(l->item[0] <= l->item[1]))
        config_blame(cfg, p, KEYS(key), "%s must be [least, largest]", key);
}

static void check_epochs(const struct config *cfg, struct problems *p)
{
    if (cfg->train.start_epoch && cfg->train.start_epoch >= cfg->train.epochs)
        config_blame(cfg, p, KEYS("TRAIN.START_EPOCH", "TRAIN.EPOCHS"),
                     "TRAIN.START_EPOCH (%lld) is %s TRAIN.EPOCHS (%lld)",
                     (long long)cfg->train.start_epoch,
                     cfg->train.start_epoch > cfg->train.epochs ? "more than" : "all of",
                     (long long)cfg->train.epochs);
    if (cfg->train.freeze_epochs && cfg->train.freeze_epochs >= cfg->train.epochs)
        config_blame(
            cfg, p, KEYS("TRAIN.FREEZE_EPOCHS", "TRAIN.EPOCHS"),
            "TRAIN.FREEZE_EPOCHS (%lld) is %s TRAIN.EPOCHS (%lld): no epoch would "
            "train everything (to train only the head, see TRAIN.FREEZE)",
            (long long)cfg->train.freeze_epochs,
            cfg->train.freeze_epochs > cfg->train.epochs ? "more than" : "all of",
            (long long)cfg->train.epochs);
}

static void check_swa(const struct config *cfg, struct problems *p)
{
    const struct config_train *t = &cfg->train;
    const char *const *keys = KEYS("TRAIN.SWA.START", "TRAIN.EPOCHS");

    if (!t->swa.enable)
        return;
    if (t->ema.enable)
        config_blame(
            cfg, p, KEYS("TRAIN.SWA.ENABLE", "TRAIN.EMA.ENABLE"),
            "TRAIN.SWA.ENABLE and TRAIN.EMA.ENABLE are both True: a run keeps one "
            "average of its weights");
    if (t->epochs && t->swa.start >= t->epochs)
        config_blame(
            cfg, p, keys,
            "TRAIN.SWA.START (%lld) is not before the end of TRAIN.EPOCHS (%lld)",
            (long long)t->swa.start, (long long)t->epochs);
    if (t->swa.start && t->swa.start < t->freeze_epochs)
        config_blame(cfg, p, KEYS("TRAIN.SWA.START", "TRAIN.FREEZE_EPOCHS"),
                     "TRAIN.SWA.START (%lld) is within TRAIN.FREEZE_EPOCHS (%lld)",
                     (long long)t->swa.start, (long long)t->freeze_epochs);
    if (!strcmp(t->lr_scheduler.name, "plateau"))
        config_blame(
            cfg, p, KEYS("TRAIN.SWA.ENABLE", "TRAIN.LR_SCHEDULER.NAME"),
            "TRAIN.SWA.ENABLE: the schedule plateau sets the rate by scores, and "
            "averaging needs a rate of its own; choose another schedule");
}

/* With a decay of 1, averages never change, and 1 - beta is a divisor. */
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
    check_epochs(cfg, p);
    check_swa(cfg, p);
    check_decays(cfg, p);
    check_ordered(cfg, "AUG.SCALE", &cfg->aug.scale, p);
    check_ordered(cfg, "AUG.RESIZE_SCALE", &cfg->aug.resize_scale, p);
    check_ordered(cfg, "AUG.RATIO", &cfg->aug.ratio, p);
    check_ordered(cfg, "AUG.CUTMIX_MINMAX", &cfg->aug.cutmix_minmax, p);
    if (!p->nerror)
        config_check_unread(cfg, p);
}
