#include "train/model_config.h"

#include "base/error.h"

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
        problems_error(p, config_where(cfg, key), "%s must be below 1, not %g", key,
                       rate);
}

void model_check(const struct config *cfg, struct problems *p)
{
    const char *key = model_type_known(cfg->model.type) ? "MODEL.NAME" : "MODEL.TYPE";
    struct strbuf why = STRBUF_INIT;

    if (!model_find(cfg->model.type, cfg->model.name, &why))
        problems_error(p, config_where(cfg, key), "%s", why.buf);
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
