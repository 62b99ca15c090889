/* Warns about keys that are set but not read because of other keys. */
#include <string.h>

#include "config/config.h"
#include "config/problems.h"

static void check_read(const struct config *cfg, struct problems *p, const char *key,
                       bool read, const char *why)
{
    if (!read)
        config_warn_unread(cfg, p, key, "%s", why);
}

static void check_scaler_keys(const struct config *cfg, struct problems *p)
{
    static const char *const key[] = {"AMP.INIT_SCALE",     "AMP.GROWTH_FACTOR",
                                      "AMP.BACKOFF_FACTOR", "AMP.GROWTH_INTERVAL",
                                      "AMP.MIN_SCALE",      "AMP.NUM_LOSSES"};
    bool mixed = config_amp_level(cfg) > 0,
         half = mixed && cfg->amp.dtype != AMP_DTYPE_BF16;
    bool dynamic = !strcmp(cfg->amp.loss_scale, "dynamic");

    check_read(cfg, p, "AMP.DTYPE", mixed, "mixed precision is off");
    for (size_t i = 0; i < sizeof(key) / sizeof(key[0]); i++)
        check_read(cfg, p, key[i], half && dynamic,
                   half ? "AMP.LOSS_SCALE is a number" : "only fp16 has a loss scale");
}

static void check_level_keys(const struct config *cfg, struct problems *p)
{
    static const char *const stored[] = {"AMP.KEEP_BATCHNORM_FP32", "AMP.MASTER_WEIGHTS"};
    static const char *const layers[] = {"AMP.FP32", "AMP.HALF"};
    int level = config_amp_level(cfg);

    for (int i = 0; i < 2; i++) {
        check_read(cfg, p, stored[i], level >= AMP_OPT_LEVEL_O2,
                   "below O2 all weights are fp32");
        check_read(cfg, p, layers[i], level > AMP_OPT_LEVEL_O0, "mixed precision is off");
    }
}

static void check_augmentation_keys(const struct config *cfg, struct problems *p)
{
    static const char *const mixes[] = {"AUG.MIXUP_SWITCH_PROB", "AUG.MIXUP_MODE",
                                        "AUG.MIXUP_OFF_EPOCH"};
    static const char none[] = "neither AUG.MIXUP nor AUG.CUTMIX is on";
    bool mixup = cfg->aug.mixup > 0, erases = cfg->aug.reprob > 0;
    bool cutmix = cfg->aug.cutmix > 0 || cfg->aug.cutmix_minmax.item;

    check_read(cfg, p, "AUG.REMODE", erases, "AUG.REPROB is 0");
    check_read(cfg, p, "AUG.RECOUNT", erases, "AUG.REPROB is 0");
    check_read(cfg, p, "AUG.MIXUP_PROB", mixup || cutmix, none);
    for (int i = 0; i < 3; i++)
        if (!mixup && !cutmix)
            check_read(cfg, p, mixes[i], false, none);
        else
            check_read(cfg, p, mixes[i], cfg->aug.mixup_prob > 0, "AUG.MIXUP_PROB is 0");
    if (cfg->aug.mixup_prob > 0 && mixup != cutmix)
        check_read(cfg, p, "AUG.MIXUP_SWITCH_PROB", false,
                   "only one of AUG.MIXUP and AUG.CUTMIX is on");
}

void config_check_unread(const struct config *cfg, struct problems *p)
{
    static const char ema[] = "TRAIN.EMA.ENABLE is False";
    static const char swa[] = "TRAIN.SWA.ENABLE is False";
    static const char frozen[] = "TRAIN.FREEZE_EPOCHS is 0";
    static const char windows[] = "TEST.SCALES and TEST.TTA are empty";
    bool slides = cfg->test.scales.n || *cfg->test.tta;
    bool counts = !cfg->train.class_weights.item &&
                  cfg->train.class_weights.n == CLASS_WEIGHTS_AUTO;

    check_scaler_keys(cfg, p);
    check_level_keys(cfg, p);
    check_augmentation_keys(cfg, p);
    check_read(cfg, p, "TRAIN.SCALE_LR_BASE", cfg->train.scale_lr,
               "TRAIN.SCALE_LR is False");
    check_read(cfg, p, "TRAIN.CLIP_MODE", cfg->train.clip_grad > 0,
               "TRAIN.CLIP_GRAD is 0");
    check_read(cfg, p, "DATA.SHUFFLE_SHARDS", cfg->data.shuffle, "DATA.SHUFFLE is False");
    check_read(cfg, p, "DATA.CROP_PCT", cfg->test.crop, "TEST.CROP is False");
    check_read(cfg, p, "DATA.MAX_BAD_SHARE", cfg->data.on_error != ON_ERROR_FAIL,
               "DATA.ON_ERROR fail stops the run at the first damaged file");
    check_read(cfg, p, "TRAIN.EMA.DECAY", cfg->train.ema.enable, ema);
    check_read(cfg, p, "TRAIN.EMA.RAMP_STEPS", cfg->train.ema.enable, ema);
    check_read(cfg, p, "TRAIN.EMA.DEVICE", cfg->train.ema.enable, ema);
    check_read(cfg, p, "TRAIN.SWA.START", cfg->train.swa.enable, swa);
    check_read(cfg, p, "TRAIN.SWA.LR", cfg->train.swa.enable, swa);
    check_read(cfg, p, "TRAIN.SWA.BN_BATCHES", cfg->train.swa.enable, swa);
    check_read(cfg, p, "TRAIN.SWA.ANNEAL", cfg->train.swa.enable && cfg->train.swa.lr.has,
               cfg->train.swa.enable ? "TRAIN.SWA.LR is None" : swa);
    check_read(cfg, p, "TRAIN.SWA.ANNEAL_EPOCHS",
               cfg->train.swa.enable && cfg->train.swa.lr.has,
               cfg->train.swa.enable ? "TRAIN.SWA.LR is None" : swa);
    check_read(cfg, p, "TRAIN.FREEZE_LR", cfg->train.freeze_epochs, frozen);
    check_read(cfg, p, "TRAIN.FREEZE_HEAD", cfg->train.freeze_epochs, frozen);
    check_read(cfg, p, "TRAIN.VALIDATE_DEVICE",
               cfg->train.validate == VALIDATE_BACKGROUND,
               "TRAIN.VALIDATE is not background");
    check_read(cfg, p, "TEST.WINDOW_OVERLAP", slides, windows);
    check_read(cfg, p, "TEST.WINDOW_WEIGHTS", slides, windows);
    check_read(cfg, p, "MODEL.SYNC_BN_GROUP", cfg->model.sync_bn,
               "MODEL.SYNC_BN is False");
    check_read(cfg, p, "TRAIN.CLASS_WEIGHTS_C", counts,
               "TRAIN.CLASS_WEIGHTS is not auto");
    check_read(cfg, p, "TRAIN.CLASS_WEIGHTS_BETA",
               !cfg->train.class_weights.item &&
                   cfg->train.class_weights.n == CLASS_WEIGHTS_EFFECTIVE,
               "TRAIN.CLASS_WEIGHTS is not effective");
}
