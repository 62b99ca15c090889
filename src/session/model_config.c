#include "session/model_config.h"

#include <math.h>

#include "base/error.h"
#include "image/label.h"

static const enum init_rule init_of_choice[] = {
    [INIT_MODEL] = INIT_RULE_DEFAULT,
    [INIT_KAIMING_NORMAL] = INIT_RULE_KAIMING_NORMAL,
    [INIT_KAIMING_UNIFORM] = INIT_RULE_KAIMING_UNIFORM,
    [INIT_XAVIER_NORMAL] = INIT_RULE_XAVIER_NORMAL,
    [INIT_XAVIER_UNIFORM] = INIT_RULE_XAVIER_UNIFORM,
};

static const enum resnet_stem stem_of_choice[] = {
    [STEM_AUTO] = RESNET_STEM_OWN,      [STEM_7X7] = RESNET_STEM_7X7,
    [STEM_3X3] = RESNET_STEM_3X3,       [STEM_DEEP] = RESNET_STEM_DEEP,
    [STEM_DEEP64] = RESNET_STEM_DEEP64, [STEM_TIERED] = RESNET_STEM_TIERED,
};

static const enum resnet_shortcut shortcut_of_choice[] = {
    [SHORTCUT_AUTO] = RESNET_SHORTCUT_OWN,
    [SHORTCUT_CONV] = RESNET_SHORTCUT_CONV,
    [SHORTCUT_AVG] = RESNET_SHORTCUT_AVG,
    [SHORTCUT_PAD] = RESNET_SHORTCUT_PAD,
};

/* 1 would drop everything. */
static void check_rate(const struct config *cfg, struct problems *p, const char *key,
                       double rate)
{
    if (!(rate < 1))
        config_blame(cfg, p, KEYS(key), "%s must be below 1, not %g", key, rate);
}

/* Defaults are Swin's and mean classifiers; what was changed must not be passed over. */
static void check_unused(const struct config *cfg, struct problems *p, const char *key,
                         double value, const char *why)
{
    if (value > 0 && !config_is_default(cfg, key))
        config_blame(cfg, p, KEYS(key), "%s %g: %s %s", key, value, cfg->model.name, why);
}

static void check_class_weights(const struct config *cfg, struct problems *p)
{
    const struct float_list *w = &cfg->train.class_weights;
    const char *where = config_where(cfg, "TRAIN.CLASS_WEIGHTS");
    double sum = 0;

    if (w->item && w->n != cfg->model.num_classes)
        problems_error(
            p, where, "TRAIN.CLASS_WEIGHTS has %d numbers, and MODEL.NUM_CLASSES is %lld",
            w->n, (long long)cfg->model.num_classes);
    for (int i = 0; w->item && i < w->n; i++)
        sum += w->item[i];
    if (w->item && !(sum > 0))
        problems_error(p, where, "TRAIN.CLASS_WEIGHTS are all zero");
}

void model_check_labels(const struct config *cfg, struct problems *p)
{
    if (cfg->model.num_classes > LABEL_CLASSES)
        config_blame(cfg, p, KEYS("MODEL.NUM_CLASSES"),
                     "MODEL.NUM_CLASSES %lld: label pictures have at most %d classes",
                     (long long)cfg->model.num_classes, LABEL_CLASSES);
}

static void check_segment(const struct config *cfg, struct problems *p)
{
    static const char *const pixels = "labels pixels, which are not mixed or smoothed";
    static const char *const rates = "has its own rates of dropout";
    static const char *const mixes[] = {"AUG.MIXUP_PROB", "AUG.MIXUP_SWITCH_PROB",
                                        "AUG.MIXUP_MODE", "AUG.MIXUP_OFF_EPOCH"};

    model_check_labels(cfg, p);
    if (config_height(cfg) % 8 || config_width(cfg) % 8)
        config_blame(cfg, p, KEYS("DATA.IMG_SIZE", "DATA.IMG_WIDTH", "DATA.IMG_HEIGHT"),
                     "the input of %s is %d x %d pixels, width and height must be "
                     "multiples of 8 (DATA.IMG_WIDTH, DATA.IMG_HEIGHT)",
                     cfg->model.name, config_width(cfg), config_height(cfg));
    check_unused(cfg, p, "AUG.MIXUP", cfg->aug.mixup, pixels);
    check_unused(cfg, p, "AUG.CUTMIX", cfg->aug.cutmix, pixels);
    check_unused(cfg, p, "AUG.CUTMIX_MINMAX",
                 cfg->aug.cutmix_minmax.item ? cfg->aug.cutmix_minmax.item[1] : 0,
                 pixels);
    for (int i = 0; i < 4 && (cfg->aug.mixup > 0 || cfg->aug.cutmix > 0); i++)
        config_warn_unread(cfg, p, mixes[i], "%s %s", cfg->model.name, pixels);
    check_unused(cfg, p, "MODEL.LABEL_SMOOTHING", cfg->model.label_smoothing, pixels);
    check_unused(cfg, p, "MODEL.DROP_RATE", cfg->model.drop_rate, rates);
    check_unused(cfg, p, "MODEL.DROP_PATH_RATE", cfg->model.drop_path_rate, rates);
    if (cfg->model.init)
        config_blame(cfg, p, KEYS("MODEL.INIT"),
                     "MODEL.INIT: %s has its own initial weights", cfg->model.name);
    check_class_weights(cfg, p);
}

static void check_classify(const struct config *cfg, struct problems *p)
{
    const struct float_list *w = &cfg->train.class_weights;

    if (w->item || w->n != CLASS_WEIGHTS_NONE)
        config_blame(cfg, p, KEYS("TRAIN.CLASS_WEIGHTS"),
                     "TRAIN.CLASS_WEIGHTS is of segmentation, and %s labels whole images",
                     cfg->model.name);
    config_warn_unread(cfg, p, "LOG.PICTURES",
                       "%s labels whole images, which are not painted", cfg->model.name);
    if (config_height(cfg) != cfg->data.img_size ||
        config_width(cfg) != cfg->data.img_size)
        config_blame(cfg, p, KEYS("DATA.IMG_HEIGHT", "DATA.IMG_WIDTH"),
                     "DATA.IMG_HEIGHT and DATA.IMG_WIDTH are of segmentation: %s sees "
                     "squares of DATA.IMG_SIZE",
                     cfg->model.name);
}

void model_check(const struct config *cfg, struct problems *p)
{
    const char *const *keys = model_type_known(cfg->model.type)
                                  ? KEYS("MODEL.NAME", "MODEL.TYPE")
                                  : KEYS("MODEL.TYPE", "MODEL.NAME");
    struct strbuf why = STRBUF_INIT;
    const struct model *m = model_find(cfg->model.type, cfg->model.name, &why);

    if (!m)
        config_blame(cfg, p, keys, "%s", why.buf);
    else if (m->task == MODEL_SEGMENT)
        check_segment(cfg, p);
    else
        check_classify(cfg, p);
    if (cfg->model.in_chans > cfg->data.mean.n)
        config_blame(cfg, p, KEYS("MODEL.IN_CHANS"),
                     "MODEL.IN_CHANS %lld: images are read as RGB, set 3",
                     (long long)cfg->model.in_chans);
    check_rate(cfg, p, "MODEL.DROP_RATE", cfg->model.drop_rate);
    check_rate(cfg, p, "MODEL.DROP_PATH_RATE", cfg->model.drop_path_rate);
    strbuf_release(&why);
}

const struct model *model_of_config(const struct config *cfg)
{
    struct strbuf why = STRBUF_INIT;
    const struct model *m = model_find(cfg->model.type, cfg->model.name, &why);

    if (!m)
        usage("%s", why.buf);
    strbuf_release(&why);
    return m;
}

struct model_options model_options_of_config(const struct config *cfg)
{
    const struct bool_opt zero = cfg->model.resnet.zero_init_last;

    return (struct model_options){
        .classes = (int)cfg->model.num_classes,
        .drop_rate = cfg->model.drop_rate,
        .drop_path = cfg->model.drop_path_rate,
        .init = init_of_choice[cfg->model.init],
        .stem = stem_of_choice[cfg->model.resnet.stem],
        .shortcut = shortcut_of_choice[cfg->model.resnet.shortcut],
        .zero_init_last = !zero.has    ? MODEL_SWITCH_OWN
                          : zero.value ? MODEL_SWITCH_ON
                                       : MODEL_SWITCH_OFF,
    };
}

uint8_t model_mean_byte(const struct config *cfg, int channel)
{
    double v = rint(255 * cfg->data.mean.item[channel]);

    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}
