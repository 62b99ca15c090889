#include "train/data.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"

void data_check(const struct config *cfg, struct problems *p)
{
    const char *policy = cfg->aug.auto_augment;

    if (!*cfg->data.data_path)
        problems_error(p, config_where(cfg, "DATA.DATA_PATH"),
                       "DATA.DATA_PATH is not set: where are the images? (--data-path)");
    if (strcmp(cfg->data.dataset, "imagenet") != 0 &&
        strcmp(cfg->data.dataset, "folder") != 0)
        problems_error(p, config_where(cfg, "DATA.DATASET"),
                       "DATA.DATASET %s cannot be trained on: take imagenet or folder",
                       cfg->data.dataset);
    if (*policy && strcmp(policy, "none") != 0)
        problems_error(p, config_where(cfg, "AUG.AUTO_AUGMENT"),
                       "AUG.AUTO_AUGMENT %s: trainc has no policies yet, set none",
                       policy);
    if (cfg->aug.reprob > 0)
        problems_error(p, config_where(cfg, "AUG.REPROB"),
                       "AUG.REPROB %g: trainc has no random erasing yet, set 0",
                       cfg->aug.reprob);
    if (cfg->model.in_chans != 3)
        problems_error(p, config_where(cfg, "MODEL.IN_CHANS"),
                       "MODEL.IN_CHANS %lld: images are read as RGB, set 3",
                       (long long)cfg->model.in_chans);
}

static enum resize_filter filter_of(const struct config *cfg)
{
    return cfg->data.interpolation == INTERPOLATION_BICUBIC ? RESIZE_BICUBIC
                                                            : RESIZE_BILINEAR;
}

static struct transform train_transform(const struct config *cfg)
{
    struct transform t = transform_for_training((int)cfg->data.img_size);
    double jitter = cfg->aug.color_jitter > 0 ? cfg->aug.color_jitter : 0;
    int mode = cfg->aug.crop_mode;

    if (mode == CROP_MODE_AUTO)
        mode = cfg->aug.pad_crop > 0 ? CROP_MODE_PAD : CROP_MODE_RRC;
    if (mode == CROP_MODE_PAD)
        t.kind = TRANSFORM_PAD_CROP;
    if (mode == CROP_MODE_NONE) {
        t.kind = cfg->test.crop ? TRANSFORM_CENTRE : TRANSFORM_STRETCH;
        t.resize = (int)((double)cfg->data.img_size / cfg->data.crop_pct);
    }
    t.pad = (int)cfg->aug.pad_crop;
    t.filter = filter_of(cfg);
    t.flip = cfg->aug.hflip;
    for (int i = 0; i < 3; i++)
        t.jitter[i] = jitter;
    for (int i = 0; i < 2; i++) {
        t.scale[i] = cfg->aug.scale.item[i];
        t.ratio[i] = cfg->aug.ratio.item[i];
    }
    return t;
}

static struct transform val_transform(const struct config *cfg)
{
    int size = (int)cfg->data.img_size;
    struct transform t =
        transform_for_evaluation(size, (int)((double)size / cfg->data.crop_pct));

    if (!cfg->test.crop)
        t.kind = TRANSFORM_STRETCH;
    t.filter = filter_of(cfg);
    return t;
}

/* Half of the machine's memory, shared by both loaders. */
static int64_t cache_room(const struct config *cfg)
{
    if (cfg->data.cache == CACHE_NONE)
        return 0;
    return (int64_t)sysconf(_SC_PHYS_PAGES) / 4 * sysconf(_SC_PAGE_SIZE);
}

static struct loader *start(const struct data *d, const struct dataset *set,
                            const struct transform *transform, int64_t batch, bool train)
{
    const struct config *cfg = d->cfg;
    struct loader_options o = {
        .transform = *transform,
        .batch = (int)batch,
        .workers = (int)cfg->data.num_workers,
        .prefetch = (int)cfg->data.prefetch,
        .seed = (uint64_t)cfg->seed,
        .shuffle = train,
        .drop_last = train,
        .limits = {.max_pixels = cfg->data.max_pixels, .max_bytes = cfg->data.max_bytes},
        .on_error = cfg->data.on_error == ON_ERROR_FAIL ? LOADER_FAIL : LOADER_SKIP,
        .max_bad_share = cfg->data.max_bad_share,
        .cache_bytes = cache_room(cfg),
    };

    return loader_open(set, &o);
}

static struct dataset *open_split(const struct config *cfg, const char *split)
{
    char *dir = path_join(cfg->data.data_path, split);
    struct dataset *d = folder_open(dir);

    free(dir);
    return d;
}

static void check_class_count(const struct data *d, const struct dataset *set)
{
    if (set->nclass != d->cfg->model.num_classes)
        usage("'%s' has %d classes, and MODEL.NUM_CLASSES is %lld", set->name,
              set->nclass, (long long)d->cfg->model.num_classes);
}

void data_open(struct data *d, const struct config *cfg, int splits)
{
    const struct dataset *any;

    *d = (struct data){.cfg = cfg};
    if (splits & DATA_TRAIN)
        d->train = open_split(cfg, cfg->data.train_split);
    if (splits & DATA_VAL)
        d->val = open_split(cfg, cfg->data.val_split);
    if (d->train && d->val)
        dataset_check_classes(d->train, d->val);
    any = d->train ? d->train : d->val;
    check_class_count(d, any);
    d->classes.name = (const char *const *)any->class_name;
    d->classes.n = any->nclass;
}

void data_start(struct data *d, int64_t batch, int64_t val_batch)
{
    struct transform train = train_transform(d->cfg), val = val_transform(d->cfg);

    if (d->train)
        d->train_loader = start(d, d->train, &train, batch, true);
    if (d->val)
        d->val_loader = start(d, d->val, &val, val_batch, false);
}

void data_close(struct data *d)
{
    loader_close(d->train_loader);
    loader_close(d->val_loader);
    dataset_close(d->train);
    dataset_close(d->val);
    *d = (struct data){0};
}
