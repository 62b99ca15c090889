#include "train/scene_config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "dataset/class_set.h"
#include "session/model_config.h"

static bool is_dataset(const struct config *cfg, const char *name)
{
    return strcmp(cfg->data.dataset, name) == 0;
}

/* NULL if there is no such model: model_check says so. */
static const struct model *find_model(const struct config *cfg)
{
    struct strbuf unused = STRBUF_INIT;
    const struct model *m = model_find(cfg->model.type, cfg->model.name, &unused);

    strbuf_release(&unused);
    return m;
}

bool scene_config(const struct config *cfg)
{
    const struct model *m = find_model(cfg);

    if (is_dataset(cfg, "list") || is_dataset(cfg, "cityscapes") ||
        is_dataset(cfg, "voc"))
        return true;
    return is_dataset(cfg, "synthetic") && m && m->task == MODEL_SEGMENT;
}

/* Can it be a line's part, in a table or a file name? */
static bool is_name(const char *text)
{
    const char *c = text;

    while ((unsigned char)*c >= ' ' && *c != 0x7f)
        c++;
    return *text && !*c;
}

static void check_names(const struct config *cfg, struct problems *p)
{
    const struct str_list *names = &cfg->data.class_names;
    const char *why = NULL;

    if (names->n == 0)
        return;
    if (*cfg->data.class_set)
        why = "DATA.CLASS_SET has names of its own: leave one of them empty";
    else if (is_dataset(cfg, "synthetic"))
        why = "synthetic pictures have no classes that could be named";
    if (why)
        config_blame(cfg, p, KEYS("DATA.CLASS_NAMES"), "DATA.CLASS_NAMES: %s", why);
    else if (names->n != cfg->model.num_classes)
        config_blame(cfg, p, KEYS("DATA.CLASS_NAMES"),
                     "DATA.CLASS_NAMES has %d names, and MODEL.NUM_CLASSES is %lld",
                     names->n, (long long)cfg->model.num_classes);
    for (int i = 0; i < names->n; i++)
        if (!is_name(names->item[i]))
            config_blame(cfg, p, KEYS("DATA.CLASS_NAMES"),
                         "DATA.CLASS_NAMES: the name of class %d is empty or has control "
                         "characters",
                         i);
    for (int i = 0; i < names->n; i++)
        for (int k = 0; k < i; k++)
            if (!strcmp(names->item[i], names->item[k]))
                config_blame(cfg, p, KEYS("DATA.CLASS_NAMES"),
                             "DATA.CLASS_NAMES: classes %d and %d are both called '%s'",
                             k, i, names->item[i]);
}

static void check_classes(const struct config *cfg, struct problems *p)
{
    const struct class_set *set = class_set_find(cfg->data.class_set);
    long long classes = cfg->model.num_classes;

    if (set && set->n != classes)
        config_blame(cfg, p, KEYS("DATA.CLASS_SET"),
                     "DATA.CLASS_SET %s has %d classes, and MODEL.NUM_CLASSES is %lld",
                     set->name, set->n, classes);
    model_check_labels(cfg, p);
    if (cfg->data.labels == LABELS_TRAIN_IDS && set && !set->has_ids)
        config_blame(cfg, p, KEYS("DATA.LABELS"),
                     "DATA.LABELS train_ids are 19 classes: DATA.CLASS_SET %s is not "
                     "made of them",
                     set->name);
}

/* Defaults mean classifiers; what somebody has changed must not be passed over. */
static void check_unused(const struct config *cfg, struct problems *p, const char *key,
                         bool used)
{
    if (used && !config_is_default(cfg, key))
        config_blame(cfg, p, KEYS(key),
                     "%s is not for label pictures, which would no longer fit", key);
}

static void warn_unread(const struct config *cfg, struct problems *p, const char *key,
                        const char *why)
{
    if (!config_is_default(cfg, key))
        problems_warn(p, config_where(cfg, key), "%s has no effect: %s", key, why);
}

static void check_unread(const struct config *cfg, struct problems *p)
{
    const char *crop = "images with label pictures are cropped as AUG.RESIZE_SCALE says",
               *whole = "images with label pictures are evaluated whole";

    warn_unread(cfg, p, "AUG.SCALE", crop);
    warn_unread(cfg, p, "AUG.RATIO", crop);
    warn_unread(cfg, p, "AUG.INTERPOLATION", "label pictures have DATA.INTERPOLATION");
    warn_unread(cfg, p, "DATA.CROP_PCT", whole);
    warn_unread(cfg, p, "TEST.CROP", whole);
    if (cfg->data.labels == LABELS_TRAIN_IDS && !*cfg->data.class_set)
        warn_unread(cfg, p, "DATA.LABELS", "without DATA.CLASS_SET labels are classes");
}

static void check_augmentation(const struct config *cfg, struct problems *p)
{
    const char *policy = cfg->aug.auto_augment;

    check_unused(cfg, p, "AUG.AUTO_AUGMENT", *policy && strcmp(policy, "none") != 0);
    check_unused(cfg, p, "AUG.REPROB", cfg->aug.reprob > 0);
    check_unused(cfg, p, "AUG.PAD_CROP", cfg->aug.pad_crop > 0);
    check_unused(cfg, p, "AUG.PAD_MODE", cfg->aug.pad_mode != PAD_MODE_CONSTANT);
    check_unused(cfg, p, "AUG.CROP_MODE",
                 cfg->aug.crop_mode != CROP_MODE_AUTO &&
                     cfg->aug.crop_mode != CROP_MODE_NONE);
}

/* The other way round: keys of label pictures, and the data are whole images' labels. */
static void check_images(const struct config *cfg, const struct model *m,
                         struct problems *p)
{
    static const char *const key[] = {"DATA.CLASS_SET", "DATA.CLASS_NAMES", "DATA.LABELS",
                                      "AUG.SHIFT", "AUG.RESIZE_SCALE"};
    const double *factor = cfg->aug.resize_scale.item;
    bool used[] = {*cfg->data.class_set, cfg->data.class_names.n,
                   cfg->data.labels != LABELS_IDS, cfg->aug.shift,
                   factor[0] != 1 || factor[1] != 1};

    for (int i = 0; i < 5; i++)
        if (used[i])
            config_blame(cfg, p, KEYS(key[i]),
                         "%s is for label pictures, which DATA.DATASET %s does not "
                         "have",
                         key[i], cfg->data.dataset);
    if (m && m->task == MODEL_SEGMENT)
        config_blame(cfg, p, KEYS("DATA.DATASET"),
                     "DATA.DATASET %s has no label pictures, which %s needs: "
                     "cityscapes, voc or list",
                     cfg->data.dataset, m->name);
}

void scene_check(const struct config *cfg, struct problems *p)
{
    const struct model *m = find_model(cfg);

    if (!scene_config(cfg)) {
        check_images(cfg, m, p);
        return;
    }
    if (m && m->task != MODEL_SEGMENT)
        config_blame(cfg, p, KEYS("DATA.DATASET"),
                     "DATA.DATASET %s has label pictures, and %s labels whole images",
                     cfg->data.dataset, m->name);
    check_classes(cfg, p);
    check_names(cfg, p);
    check_augmentation(cfg, p);
    check_unread(cfg, p);
}

char *scene_path(const struct config *cfg, const char *split)
{
    const char *root = cfg->data.data_path;
    char *one, *two;

    if (is_dataset(cfg, "voc"))
        return xasprintf("%s/ImageSets/Segmentation/%s.txt", root, split);
    if (!is_dataset(cfg, "list"))
        return xasprintf("%s/leftImg8bit/%s", root, split);
    one = xasprintf("%s/%s.txt", root, split);
    two = xasprintf("%s/%sImages.txt", root, split);
    if (file_exists(one) || !file_exists(two)) {
        free(two);
        return one;
    }
    free(one);
    return two;
}

struct dataset *scene_open(const struct config *cfg, const char *split)
{
    struct label_options o = {
        .set = class_set_find(cfg->data.class_set),
        .classes = (int)cfg->model.num_classes,
        .names = cfg->data.class_names.n ? cfg->data.class_names.item : NULL,
        .train_ids = cfg->data.labels == LABELS_TRAIN_IDS,
    };

    if (is_dataset(cfg, "voc"))
        return voc_open(cfg->data.data_path, split, &o);
    if (is_dataset(cfg, "list"))
        return list_open(cfg->data.data_path, split, &o);
    return cityscapes_open(cfg->data.data_path, split, &o);
}

struct transform scene_transform(const struct config *cfg, bool train)
{
    struct transform t = transform_for_scenes(config_width(cfg), config_height(cfg));

    t.label_divisor = model_of_config(cfg)->label_divisor;
    t.filter = cfg->data.interpolation == INTERPOLATION_BILINEAR ? RESIZE_BILINEAR
                                                                 : RESIZE_BICUBIC;
    for (int c = 0; c < 3; c++)
        t.fill[c] = model_mean_byte(cfg, c);
    if (!train)
        return t;
    memcpy(t.factor, cfg->aug.resize_scale.item, sizeof(t.factor));
    t.shift = (int)cfg->aug.shift;
    t.flip = (struct augment_flips){cfg->aug.hflip,
                                    cfg->aug.hflip_mode == HFLIP_MODE_ALTERNATE};
    for (int c = 0; c < 3; c++)
        t.jitter[c] = cfg->aug.color_jitter;
    return t;
}
