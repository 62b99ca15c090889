#include "models/options.h"

#include <string.h>

static const struct option_choice inits[] = {
    {"", INIT_RULE_DEFAULT},
    {"kaiming_normal", INIT_RULE_KAIMING_NORMAL},
    {"kaiming_uniform", INIT_RULE_KAIMING_UNIFORM},
    {"xavier_normal", INIT_RULE_XAVIER_NORMAL},
    {"xavier_uniform", INIT_RULE_XAVIER_UNIFORM},
    {0},
};

const struct option model_common_options[] = {
    OPTION("MODEL.NUM_CLASSES", struct model_options, classes),
    OPTION("MODEL.DROP_RATE", struct model_options, drop_rate),
    OPTION("MODEL.DROP_PATH_RATE", struct model_options, drop_path),
    OPTION_CHOICES("MODEL.INIT", struct model_options, init, inits),
    OPTION("MODEL.OUTPUT_STRIDE", struct model_options, output_stride),
    OPTION("MODEL.SKIP_STRIDES", struct model_options, skip_strides),
    OPTION("MODEL.BACKBONE", struct model_options, backbone),
    OPTION("MODEL.AUX_WEIGHT", struct model_options, aux_weight),
    OPTION("MODEL.SIMMIM.NORM_TARGET.ENABLE", struct model_options, norm_target),
    OPTION("MODEL.SIMMIM.NORM_TARGET.PATCH_SIZE", struct model_options, norm_window),
    {0},
};

const struct option *option_find(const struct option *table, const char *key)
{
    for (const struct option *o = table; o && o->key; o++)
        if (!strcmp(o->key, key))
            return o;
    return NULL;
}
