#include "train/segment_config.h"

#include <string.h>

#include "base/error.h"
#include "dataset/class_colors.h"
#include "dataset/table.h"
#include "session/augment_config.h"
#include "session/augment_items.h"
#include "session/model_config.h"
#include "train/data_order.h"

/* Returns NULL if the model does not exist, which model_check() reports. */
static const struct model *find_model(const struct config *cfg)
{
    struct strbuf unused = STRBUF_INIT;
    const struct model *m = model_lookup(cfg, &unused);

    strbuf_release(&unused);
    return m;
}

/* Keys for label maps; they must have their defaults if there are none. */
static const char *const label_keys[] = {"DATA.CLASS_SET",
                                         "DATA.CLASS_NAMES",
                                         "DATA.LABELS",
                                         "DATA.LABEL_MAP",
                                         "DATA.CLASS_COLORS",
                                         "DATA.IGNORED_COLORS",
                                         "DATA.REDUCE_ZERO_LABEL",
                                         "AUG.SHIFT",
                                         "AUG.RESIZE_SCALE",
                                         "AUG.MOSAIC"};

enum { LABEL_KEYS = sizeof(label_keys) / sizeof(label_keys[0]) };

static bool by_data;

void segment_by_data(void)
{
    by_data = true;
}

/* True if no model is named, so that the data decide whether there are label maps. */
static bool asks_data(const struct config *cfg)
{
    return by_data && !config_origin(cfg, "MODEL.NAME") &&
           !config_origin(cfg, "MODEL.TYPE");
}

/* True if the data have label maps or a key for them is set; looks at the data only
 * once. */
static bool data_has_label_maps(const struct config *cfg, const struct storage *row)
{
    static int known = -1;
    struct dataset_source s = {.path = cfg->data.data_path,
                               .split = cfg->data.train_split};

    if (known >= 0)
        return known;
    known = 0;
    for (int i = 0; i < LABEL_KEYS; i++)
        known |= !config_is_default(cfg, label_keys[i]);
    if (!known && row->has_label_maps && *s.path)
        known = row->has_label_maps(&s);
    s.split = cfg->data.val_split;
    if (!known && row->has_label_maps && *s.path)
        known = row->has_label_maps(&s);
    return known;
}

bool segment_config(const struct config *cfg)
{
    const struct storage *row = storage_find(cfg->data.dataset);
    const struct model *m = find_model(cfg);

    if (!row || row->labels != STORAGE_EITHER)
        return row && row->labels == STORAGE_LABEL_MAPS;
    if (asks_data(cfg))
        return data_has_label_maps(cfg, row);
    return m && m->family->task == MODEL_SEGMENT;
}

/* Returns the class set of DATA.CLASS_COLORS, NULL if the key is empty, or NULL and a
 * reason on failure. */
static const struct class_set *color_set(const struct config *cfg, struct strbuf *why)
{
    const struct config_data *d = &cfg->data;

    return d->class_colors.n ? class_colors_set(&d->class_colors, &d->class_names,
                                                &d->ignored_colors, d->data_path, why)
                             : NULL;
}

const struct class_set *segment_class_set(const struct config *cfg)
{
    struct strbuf why = STRBUF_INIT;
    const struct class_set *set = color_set(cfg, &why);

    if (why.len)
        usage("DATA.CLASS_COLORS: %s", why.buf);
    return set ? set : class_set_find(cfg->data.class_set);
}

static bool reads(const struct config *cfg, const char *key)
{
    return storage_reads(storage_find(cfg->data.dataset), key);
}

/* True if `text` can be part of a line, a table, or a file name. */
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

    if (names->n == 0 || !reads(cfg, "DATA.CLASS_NAMES"))
        return;
    if (*cfg->data.class_set)
        config_blame(cfg, p, KEYS("DATA.CLASS_NAMES"),
                     "DATA.CLASS_NAMES: DATA.CLASS_SET already has names: leave one of "
                     "them empty");
    else if (names->n != cfg->model.num_classes)
        config_blame(cfg, p, KEYS("DATA.CLASS_NAMES"),
                     "DATA.CLASS_NAMES has %d names, but MODEL.NUM_CLASSES is %lld",
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
    struct strbuf why = STRBUF_INIT;
    const struct class_set *colors = color_set(cfg, &why), *set = colors;
    long long classes = cfg->model.num_classes;

    if (!set)
        set = class_set_find(cfg->data.class_set);
    if (why.len)
        config_blame(cfg, p, KEYS("DATA.CLASS_COLORS"), "DATA.CLASS_COLORS: %s", why.buf);
    else if (set && set->n != classes && reads(cfg, "DATA.CLASS_SET") &&
             (!asks_data(cfg) || config_origin(cfg, "MODEL.NUM_CLASSES")))
        config_blame(cfg, p, KEYS(colors ? "DATA.CLASS_COLORS" : "DATA.CLASS_SET"),
                     "%s%s has %d classes, but MODEL.NUM_CLASSES is %lld",
                     colors ? "" : "DATA.CLASS_SET ", set->name, set->n, classes);
    if (colors && *cfg->data.class_set)
        config_blame(cfg, p, KEYS("DATA.CLASS_COLORS"),
                     "DATA.CLASS_COLORS: DATA.CLASS_SET already has colors: leave one of "
                     "them empty");
    if (!cfg->data.class_colors.n)
        config_warn_unread(cfg, p, "DATA.IGNORED_COLORS",
                           "without DATA.CLASS_COLORS label files contain class values");
    strbuf_release(&why);
    if (!asks_data(cfg) || config_origin(cfg, "MODEL.NUM_CLASSES"))
        model_check_labels(cfg, p);
    if (cfg->data.labels == LABELS_TRAIN_IDS && set && !set->has_ids)
        config_blame(
            cfg, p, KEYS("DATA.LABELS"),
            "DATA.LABELS train_ids has 19 classes, which do not match DATA.CLASS_SET %s",
            set->name);
}

/* A set that ignores the value 0 already would have its classes shifted by one. */
static void check_reduced(const struct config *cfg, struct problems *p)
{
    const struct class_set *set = class_set_find(cfg->data.class_set);
    uint8_t map[256];

    if (!set || !cfg->data.reduce_zero_label)
        return;
    class_set_map(set, set->n, cfg->data.labels == LABELS_TRAIN_IDS, map);
    if (map[0] == LABEL_IGNORE)
        config_blame(cfg, p, KEYS("DATA.REDUCE_ZERO_LABEL"),
                     "DATA.REDUCE_ZERO_LABEL: DATA.CLASS_SET %s already ignores 0 and "
                     "knows the values of its classes: leave one of them out",
                     set->name);
}

static void check_label_map(const struct config *cfg, struct problems *p)
{
    const struct int_table *map = &cfg->data.label_map;

    for (int i = 0; i < map->n; i++) {
        const struct int_list *row = &map->item[i];

        if (row->n != 2) {
            config_blame(cfg, p, KEYS("DATA.LABEL_MAP"),
                         "DATA.LABEL_MAP: expected rows [VALUE, NEW], as in [[255, 1]], "
                         "but row %d has %d numbers",
                         i, row->n);
            return;
        }
        for (int k = 0; k < i; k++)
            if (map->item[k].item[0] == row->item[0])
                config_blame(cfg, p, KEYS("DATA.LABEL_MAP"),
                             "DATA.LABEL_MAP: rows %d and %d both map the value %lld", k,
                             i, (long long)row->item[0]);
    }
}

/* Rejects a key that is set but does not work with label maps. Defaults are for
 * classifiers and are ignored. */
static void check_unused(const struct config *cfg, struct problems *p, const char *key,
                         bool used)
{
    if (used && !config_is_default(cfg, key))
        config_blame(
            cfg, p, KEYS(key),
            "%s does not work with label maps, which would no longer match the images",
            key);
}

static void check_unread(const struct config *cfg, struct problems *p)
{
    const char *crop = "images with label maps are cropped as AUG.RESIZE_SCALE says",
               *whole = "images with label maps are evaluated whole";

    config_warn_unread(cfg, p, "AUG.SCALE", "%s", crop);
    config_warn_unread(cfg, p, "AUG.RATIO", "%s", crop);
    config_warn_unread(cfg, p, "AUG.INTERPOLATION",
                       "segmentation uses DATA.INTERPOLATION");
    config_warn_unread(cfg, p, "DATA.CROP_PCT", "%s", whole);
    config_warn_unread(cfg, p, "TEST.CROP", "%s", whole);
    config_warn_unread(cfg, p, "DATA.FIRST_CLASS", "segmentation uses DATA.CLASS_SET");
    if (cfg->data.labels == LABELS_TRAIN_IDS && !*cfg->data.class_set)
        config_warn_unread(cfg, p, "DATA.LABELS",
                           "without DATA.CLASS_SET labels are classes");
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

bool segment_refuses(const struct config *cfg, const char *key)
{
    int i = 0;

    while (i < LABEL_KEYS && strcmp(label_keys[i], key) != 0)
        i++;
    return i < LABEL_KEYS && !segment_config(cfg);
}

static void say_no_labels(const struct config *cfg, const struct model *m,
                          struct problems *p)
{
    struct strbuf others = STRBUF_INIT;

    for (const struct storage *const *row = storage_table; *row; row++)
        if ((*row)->labels != STORAGE_CLASSES)
            strbuf_addf(&others, "%s%s", others.len ? ", " : "", (*row)->name);
    config_blame(
        cfg, p, KEYS("DATA.DATASET"),
        "DATA.DATASET %s has no label maps, which %s needs; formats with label maps: %s",
        cfg->data.dataset, m->name, others.buf);
    strbuf_release(&others);
}

/* Reports keys for label maps, and a segmentation model, if the data have no label
 * maps. */
static void check_images(const struct config *cfg, const struct model *m,
                         struct problems *p)
{
    for (int i = 0; i < LABEL_KEYS; i++)
        if (config_is_default(cfg, label_keys[i]) || data_order_reads(cfg, label_keys[i]))
            continue;
        else if (storage_find(cfg->data.dataset)->labels == STORAGE_EITHER && m)
            config_blame(cfg, p, KEYS(label_keys[i]),
                         "%s is for label maps, but %s classifies whole images: use a "
                         "segmentation model (--model erfnet)",
                         label_keys[i], m->name);
        else
            config_blame(cfg, p, KEYS(label_keys[i]),
                         "%s is for label maps, which DATA.DATASET %s does not have",
                         label_keys[i], cfg->data.dataset);
    if (m && m->family->task == MODEL_SEGMENT)
        say_no_labels(cfg, m, p);
}

void segment_check(const struct config *cfg, struct problems *p)
{
    const struct model *m = find_model(cfg);

    if (!storage_find(cfg->data.dataset))
        return;
    if (!segment_config(cfg)) {
        check_images(cfg, m, p);
        return;
    }
    if (m && m->family->task != MODEL_SEGMENT && !asks_data(cfg))
        config_blame(cfg, p, KEYS("DATA.DATASET"),
                     "DATA.DATASET %s has label maps, but %s classifies whole images",
                     cfg->data.dataset, m->name);
    check_classes(cfg, p);
    check_names(cfg, p);
    check_label_map(cfg, p);
    check_reduced(cfg, p);
    check_augmentation(cfg, p);
    check_unread(cfg, p);
}

struct transform segment_transform(const struct config *cfg, bool train)
{
    struct transform t =
        transform_for_segmentation(config_width(cfg), config_height(cfg));
    struct device_augment d = device_augment_of_config(cfg);

    t.label_divisor = model_of_config(cfg)->label_divisor;
    t.filter = cfg->data.interpolation == INTERPOLATION_BILINEAR ? RESIZE_BILINEAR
                                                                 : RESIZE_BICUBIC;
    t.channels = (int)cfg->model.in_chans;
    for (int c = 0; c < t.channels; c++)
        t.fill[c] = model_mean_byte(cfg, c);
    if (!train)
        return t;
    memcpy(t.factor, cfg->aug.resize_scale.item, sizeof(t.factor));
    t.shift = (int)cfg->aug.shift;
    augment_items_of_config(cfg, &t.list);
    t.flip = d.flip.flips;
    if (t.list.n)
        return t;
    t.flip_later = d.flips;
    t.vflip = cfg->aug.vflip;
    for (int c = 0; c < 3; c++)
        t.jitter[c] = d.jitters ? 0 : cfg->aug.color_jitter;
    return t;
}
