#include "train/sampling.h"

#include "dataset/sample_weights.h"
#include "train/segment_config.h"

_Static_assert((int)SAMPLER_UNIFORM == (int)SAMPLING_UNIFORM &&
                   (int)SAMPLER_BALANCED == (int)SAMPLING_BALANCED &&
                   (int)SAMPLER_SQRT == (int)SAMPLING_SQRT &&
                   (int)SAMPLER_WEIGHTS == (int)SAMPLING_WEIGHTS,
               "the configuration's samplers are the loader's");

void sampling_check(const struct config *cfg, struct problems *p)
{
    const struct {
        const char *key;
        bool set;
    } orders[] = {{"DATA.SHUFFLE", !cfg->data.shuffle},
                  {"DATA.SHUFFLE_SHARDS", cfg->data.shuffle_shards > 0},
                  {"AUG.REPEATS", cfg->aug.repeats > 1}};

    if (cfg->data.sampler != SAMPLER_WEIGHTS && *cfg->data.weight_column)
        config_warn_unread(cfg, p, "DATA.WEIGHT_COLUMN", "DATA.SAMPLER is not weights");
    if (cfg->data.sampler == SAMPLER_UNIFORM)
        return;
    for (int i = 0; i < 3; i++)
        if (orders[i].set)
            config_blame(cfg, p, KEYS("DATA.SAMPLER", orders[i].key),
                         "DATA.SAMPLER draws samples with replacement, which cannot be "
                         "combined with %s",
                         orders[i].key);
    if (cfg->data.sampler != SAMPLER_WEIGHTS && segment_config(cfg))
        config_blame(cfg, p, KEYS("DATA.SAMPLER"),
                     "DATA.SAMPLER balances classes of images, and %s labels pixels "
                     "(TRAIN.CLASS_WEIGHTS)",
                     cfg->model.name);
    if (cfg->data.sampler == SAMPLER_WEIGHTS && !*cfg->data.weight_column)
        config_blame(
            cfg, p, KEYS("DATA.SAMPLER", "DATA.WEIGHT_COLUMN"),
            "DATA.SAMPLER weights: DATA.WEIGHT_COLUMN names the column of a table "
            "(DATA.DATASET csv)");
}
