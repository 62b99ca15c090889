/* Checks the DATA, AUG, and TEST keys that the loader reads. */
#include "train/data_config.h"

#include <string.h>

#include "config/choice_tables.h"
#include "dataset/class_set.h"
#include "dataset/table.h"
#include "session/augment_config.h"
#include "session/augment_items.h"
#include "session/model_config.h"
#include "train/data_order.h"
#include "train/data_part.h"
#include "train/sampling.h"
#include "train/segment_config.h"

/* Color augmentations require RGB or gray images. */
static void data_check_colors(const struct config *cfg, struct problems *p, bool policy)
{
    const struct {
        const char *key;
        bool used;
    } colors[] = {{"AUG.AUTO_AUGMENT", policy},
                  {"AUG.COLOR_JITTER", cfg->aug.color_jitter > 0},
                  {"AUG.REPROB", cfg->aug.reprob > 0}};

    for (int i = 0; i < 3; i++)
        if (colors[i].used && cfg->model.in_chans != 1 &&
            cfg->model.in_chans != IMAGE_RGB)
            config_blame(cfg, p, KEYS(colors[i].key),
                         "%s is for gray and RGB images, but MODEL.IN_CHANS is %lld",
                         colors[i].key, (long long)cfg->model.in_chans);
}

void data_check_names(const struct config *cfg, struct problems *p)
{
    (void)names_check(&class_set_names, cfg, p, "DATA.CLASS_SET");
    (void)names_check(&storage_names, cfg, p, "DATA.DATASET");
}

void data_check_keys(const struct config *cfg, struct problems *p)
{
    const struct storage *row = storage_find(cfg->data.dataset);

    if (!row)
        return;
    for (const struct storage *const *other = storage_table; *other; other++)
        for (const char *const *key = (*other)->reads; key && *key; key++)
            if (!storage_reads(row, *key) && !segment_refuses(cfg, *key) &&
                !data_order_reads(cfg, *key))
                config_warn_unread(cfg, p, *key, "DATA.DATASET %s does not read it",
                                   cfg->data.dataset);
    for (int i = 0; i < 2 && row->generated; i++)
        config_warn_unread(cfg, p, i ? "DATA.INDEX_DIR" : "DATA.DATA_PATH",
                           "DATA.DATASET %s generates its images", cfg->data.dataset);
}

/* Warns that `key`, an option of random crops, has no effect if training crops are padded
 * or are those of evaluation. */
static void data_check_unread(const struct config *cfg, struct problems *p,
                              const char *key)
{
    bool none = cfg->aug.crop_mode == CROP_MODE_NONE;

    if ((none || data_pads(cfg)) && !segment_config(cfg) && config_is_given(cfg, key) &&
        !config_is_default(cfg, key))
        problems_warn(p, config_origin(cfg, key),
                      "%s has no effect: training crops are %s (AUG.CROP_MODE%s)", key,
                      none ? "those of evaluation" : "padded",
                      none ? "" : ", AUG.PAD_CROP");
}

static void data_check_on_device(const struct config *cfg, struct problems *p)
{
    struct device_augment d = device_augment_of_config(cfg);

    if (cfg->aug.on_device && !device_augment_any(&d))
        config_warn_unread(cfg, p, "AUG.ON_DEVICE",
                           segment_config(cfg) && cfg->aug.mosaic > 0
                               ? "AUG.MOSAIC puts images together after that"
                           : segment_config(cfg)
                               ? "neither AUG.HFLIP nor AUG.COLOR_JITTER is on"
                               : "neither AUG.REPROB nor, without AUG.AUTO_AUGMENT, "
                                 "AUG.HFLIP or AUG.COLOR_JITTER is on");
}

static void data_check_cache_mode(const struct config *cfg, struct problems *p)
{
    const char *const orders[] = {"AUG.REPEATS", "DATA.SHUFFLE_SHARDS", "DATA.SAMPLER"};
    bool used[] = {cfg->aug.repeats > 1, cfg->data.shuffle_shards > 0,
                   cfg->data.sampler != SAMPLER_UNIFORM};

    for (int i = 0; i < 3; i++)
        if (used[i] && data_parts(cfg))
            config_blame(
                cfg, p, KEYS("DATA.CACHE_MODE", orders[i]),
                "DATA.CACHE_MODE part: each process shuffles its own part of the images, "
                "which cannot be combined with %s: use full or no (--cache-mode)",
                orders[i]);
    if (cfg->data.cache > CACHE_ENCODED && cfg->data.cache_mode != CACHE_MODE_NO)
        config_warn_unread(cfg, p, "DATA.CACHE_MODE",
                           "DATA.CACHE already keeps decoded images");
}

/* Checks the augmentations that AUG.LIST replaces. */
static void data_check_augment(const struct config *cfg, struct problems *p)
{
    struct policy policy;
    struct strbuf why = STRBUF_INIT;

    if (policy_parse(&policy, cfg->aug.auto_augment, &why) < 0)
        config_blame(cfg, p, KEYS("AUG.AUTO_AUGMENT"), "AUG.AUTO_AUGMENT %s", why.buf);
    else
        data_check_on_device(cfg, p);
    if (!why.len && policy.kind && !segment_config(cfg) && cfg->aug.color_jitter > 0 &&
        !config_is_default(cfg, "AUG.COLOR_JITTER"))
        problems_unread(p, config_origin(cfg, "AUG.COLOR_JITTER"), "AUG.COLOR_JITTER",
                        "AUG.AUTO_AUGMENT replaces it");
    if (cfg->aug.hflip_mode == HFLIP_MODE_ALTERNATE && cfg->aug.hflip != 0.5)
        config_blame(cfg, p, KEYS("AUG.HFLIP", "AUG.HFLIP_MODE"),
                     "AUG.HFLIP_MODE alternate flips every image in every second epoch: "
                     "AUG.HFLIP must be 0.5");
    data_check_colors(cfg, p, policy.kind);
    strbuf_release(&why);
}

/* True if AUG.AUTO_AUGMENT names a policy that is applied. */
static bool data_has_policy(const struct config *cfg)
{
    struct policy policy;
    struct strbuf why = STRBUF_INIT;
    bool has = policy_parse(&policy, cfg->aug.auto_augment, &why) == 0 && policy.kind;

    strbuf_release(&why);
    return has && !augment_items_any(cfg);
}

static void data_check_resize(const struct config *cfg, struct problems *p)
{
    if (cfg->data.resize != PLACEMENT_DEVICE)
        return;
    if (segment_config(cfg))
        config_blame(cfg, p, KEYS("DATA.RESIZE"),
                     "DATA.RESIZE device: images with label maps are resized by the "
                     "loader");
    else if (data_pads(cfg))
        config_blame(cfg, p, KEYS("DATA.RESIZE"),
                     "DATA.RESIZE device: training crops are padded, not resized "
                     "(AUG.CROP_MODE, AUG.PAD_CROP)");
    else if (augment_items_any(cfg))
        config_blame(cfg, p, KEYS("DATA.RESIZE", "AUG.LIST"),
                     "DATA.RESIZE device: AUG.LIST takes resized images, in the loader: "
                     "leave one of them out");
    else if (data_has_policy(cfg))
        config_blame(cfg, p, KEYS("DATA.RESIZE", "AUG.AUTO_AUGMENT"),
                     "DATA.RESIZE device: AUG.AUTO_AUGMENT takes resized images, in the "
                     "loader: set it to none");
    else if (cfg->aug.vflip > 0)
        config_blame(cfg, p, KEYS("DATA.RESIZE", "AUG.VFLIP"),
                     "DATA.RESIZE device: AUG.VFLIP flips resized images, in the loader: "
                     "set it to 0");
}

/* MODEL.TASK multilabel and regression require a table, and a sampler that does not balance
 * classes. */
static void data_check_targets(const struct config *cfg, struct problems *p)
{
    const struct storage *row = storage_find(cfg->data.dataset);
    const char *sep = cfg->data.label_separator,
               *task = choices_tasks[cfg->model.task].name;

    if (cfg->model.task != TASK_MULTILABEL)
        config_warn_unread(cfg, p, "DATA.LABEL_SEPARATOR",
                           "MODEL.TASK multilabel reads it");
    if (cfg->model.task != TASK_MULTILABEL && cfg->model.task != TASK_REGRESSION)
        return;
    if (row && !storage_reads(row, "DATA.LABEL_SEPARATOR"))
        config_blame(cfg, p, KEYS("MODEL.TASK", "DATA.DATASET"),
                     "MODEL.TASK %s needs a table (DATA.DATASET csv), not %s", task,
                     cfg->data.dataset);
    if (cfg->model.task == TASK_MULTILABEL && strcmp(sep, "auto") != 0 &&
        strlen(sep) != 1)
        config_blame(cfg, p, KEYS("DATA.LABEL_SEPARATOR"),
                     "DATA.LABEL_SEPARATOR '%s' must be one character, or auto", sep);
    if (cfg->data.sampler != SAMPLER_UNIFORM && cfg->data.sampler != SAMPLER_WEIGHTS)
        config_blame(
            cfg, p, KEYS("DATA.SAMPLER"),
            "DATA.SAMPLER balances classes and cannot be combined with MODEL.TASK %s "
            "(weights can)",
            task);
}

void data_check(const struct config *cfg, struct problems *p)
{
    const struct storage *row = storage_find(cfg->data.dataset);

    if (row && !row->generated && !*cfg->data.data_path)
        config_blame(
            cfg, p, KEYS("DATA.DATA_PATH"),
            "DATA.DATA_PATH is empty: set the folder of the data set (--data-path DIR)");
    if (row && row->generated && cfg->data.cache == CACHE_MMAP)
        config_blame(cfg, p, KEYS("DATA.CACHE", "DATA.DATASET"),
                     "DATA.CACHE mmap: DATA.DATASET %s has no folder for the cache file",
                     row->name);
    if (augment_items_any(cfg))
        augment_items_check(cfg, segment_config(cfg), p);
    else
        data_check_augment(cfg, p);
    if (cfg->aug.crop_mode != CROP_MODE_AUTO && !data_pads(cfg) && cfg->aug.pad_crop > 0)
        problems_unread(p, config_origin(cfg, "AUG.PAD_CROP"), "AUG.PAD_CROP",
                        "AUG.CROP_MODE does not pad");
    if (!data_pads(cfg) && cfg->aug.pad_mode != PAD_MODE_CONSTANT)
        problems_unread(p, config_origin(cfg, "AUG.PAD_MODE"), "AUG.PAD_MODE",
                        "training crops are not padded");
    data_check_unread(cfg, p, "AUG.SCALE");
    data_check_unread(cfg, p, "AUG.RATIO");
    data_check_resize(cfg, p);
    data_check_names(cfg, p);
    data_check_keys(cfg, p);
    data_check_cache_mode(cfg, p);
    data_check_targets(cfg, p);
    data_part_check(cfg, p);
    sampling_check(cfg, p);
    segment_check(cfg, p);
}
