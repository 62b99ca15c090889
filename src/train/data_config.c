#include "train/data_config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cache_dir.h"
#include "base/cores.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hostmem.h"
#include "base/log.h"
#include "dataset/cache_path.h"
#include "dataset/class_set.h"
#include "dataset/hold.h"
#include "dataset/sampler.h"
#include "dataset/table.h"
#include "dist/launch.h"
#include "session/augment_config.h"
#include "session/augment_items.h"
#include "session/model_config.h"
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
            if (!storage_reads(row, *key) && !segment_refuses(cfg, *key))
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
        problems_warn(p, config_where(cfg, key),
                      "%s has no effect: training crops are %s (AUG.CROP_MODE%s)", key,
                      none ? "those of evaluation" : "padded",
                      none ? "" : ", AUG.PAD_CROP");
}

/* True if encoded image files are kept in memory. */
static bool data_holds(const struct config *cfg)
{
    bool zip = storage_reads(storage_find(cfg->data.dataset), "DATA.CACHE_MODE");

    if (zip && cfg->data.cache_mode != CACHE_MODE_NO)
        return cfg->data.cache <= CACHE_ENCODED;
    return cfg->data.cache == CACHE_ENCODED;
}

/* DATA.CACHE_MODE part: true if each of several processes caches its own part of the
 * images in memory and trains on the same part in every epoch. */
static bool data_parts(const struct config *cfg)
{
    return dist_launched().world > 1 && data_holds(cfg) &&
           cfg->data.cache != CACHE_ENCODED && cfg->data.cache_mode == CACHE_MODE_PART;
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
        problems_unread(p, config_where(cfg, "AUG.COLOR_JITTER"), "AUG.COLOR_JITTER",
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

/* MODEL.TASK multilabel requires a table, and a sampler that does not balance classes. */
static void data_check_sets(const struct config *cfg, struct problems *p)
{
    const struct storage *row = storage_find(cfg->data.dataset);
    const char *sep = cfg->data.label_separator;

    if (cfg->model.task != TASK_MULTILABEL) {
        config_warn_unread(cfg, p, "DATA.LABEL_SEPARATOR",
                           "MODEL.TASK multilabel reads it");
        return;
    }
    if (row && !storage_reads(row, "DATA.LABEL_SEPARATOR"))
        config_blame(cfg, p, KEYS("MODEL.TASK", "DATA.DATASET"),
                     "MODEL.TASK multilabel needs a table (DATA.DATASET csv), not %s",
                     cfg->data.dataset);
    if (strcmp(sep, "auto") != 0 && strlen(sep) != 1)
        config_blame(cfg, p, KEYS("DATA.LABEL_SEPARATOR"),
                     "DATA.LABEL_SEPARATOR '%s' must be one character, or auto", sep);
    if (cfg->data.sampler != SAMPLER_UNIFORM && cfg->data.sampler != SAMPLER_WEIGHTS)
        config_blame(cfg, p, KEYS("DATA.SAMPLER"),
                     "DATA.SAMPLER balances classes and cannot be combined with MODEL.TASK "
                     "multilabel (weights can)");
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
        problems_unread(p, config_where(cfg, "AUG.PAD_CROP"), "AUG.PAD_CROP",
                        "AUG.CROP_MODE does not pad");
    if (!data_pads(cfg) && cfg->aug.pad_mode != PAD_MODE_CONSTANT)
        problems_unread(p, config_where(cfg, "AUG.PAD_MODE"), "AUG.PAD_MODE",
                        "training crops are not padded");
    data_check_unread(cfg, p, "AUG.SCALE");
    data_check_unread(cfg, p, "AUG.RATIO");
    data_check_resize(cfg, p);
    data_check_names(cfg, p);
    data_check_keys(cfg, p);
    data_check_cache_mode(cfg, p);
    data_check_sets(cfg, p);
    data_part_check(cfg, p);
    sampling_check(cfg, p);
    segment_check(cfg, p);
}

/* Generated data have no folder, and no index files. */
static struct keep data_keep(const struct config *cfg)
{
    const struct storage *row = storage_find(cfg->data.dataset);
    bool files = *cfg->data.data_path && !row->generated;

    return (struct keep){.data = cfg->data.data_path,
                         .dir = files ? cache_dir(cfg->data.index_dir) : NULL};
}

static struct dataset_source data_source(const struct config *cfg, enum data_split split)
{
    bool train = split == DATA_TRAIN, label_maps = segment_config(cfg);
    const struct str_list *names = &cfg->data.class_names;

    return (struct dataset_source){
        .path = cfg->data.data_path,
        .split = train || data_part_is_carved(cfg) ? cfg->data.train_split
                                                   : cfg->data.val_split,
        .labels = {.set = segment_class_set(cfg),
                   .classes = (int)cfg->model.num_classes,
                   .first = (int)cfg->data.first_class,
                   .names = names->n ? names->item : NULL,
                   .train_ids = cfg->data.labels == LABELS_TRAIN_IDS,
                   .replace = cfg->data.label_map,
                   .reduce_zero = cfg->data.reduce_zero_label},
        .columns = {.image = cfg->data.image_column,
                    .label = cfg->data.label_column,
                    .split = cfg->data.split_column,
                    .folder = cfg->data.image_folder,
                    .weight = cfg->data.weight_column,
                    .separator = cfg->data.label_separator},
        .multilabel = cfg->model.task == TASK_MULTILABEL,
        .carved = data_part_is_carved(cfg),
        .samples = train ? cfg->data.train_num_samples : cfg->data.val_num_samples,
        .width = label_maps ? config_width(cfg) : (int)cfg->data.img_size,
        .height = label_maps ? config_height(cfg) : (int)cfg->data.img_size,
        .channels = (int)cfg->model.in_chans,
        .keep = cache_dir(cfg->data.index_dir),
        .number = split,
        .label_maps = label_maps,
    };
}

/* Appends what the user can do if the data set is missing. */
static void add_advice(const struct storage *row, const char *path, struct strbuf *out)
{
    strbuf_addstr(out, ": set your data set's folder with --data-path DIR");
    if (row->stand_in)
        strbuf_addf(out, ", or generate a small stand-in data set: trainc %s --out %s",
                    row->stand_in, path);
}

void data_check_split(const struct config *cfg, enum data_split split, struct problems *p)
{
    const char *key = split == DATA_TRAIN ? "DATA.TRAIN_SPLIT" : "DATA.VAL_SPLIT";
    const struct storage *row = storage_find(cfg->data.dataset);
    struct dataset_source s = data_source(cfg, split);
    struct strbuf why = STRBUF_INIT, guess = STRBUF_INIT, advice = STRBUF_INIT;

    if (!row || row->generated || !*s.path)
        return;
    add_advice(row, s.path, &advice);
    if (!row->probe(&s))
        storage_add_guess(row, &s, &guess);
    if (!file_exists(s.path))
        config_blame(cfg, p, KEYS("DATA.DATA_PATH"),
                     "DATA.DATA_PATH: folder '%s' not found%s", s.path, advice.buf);
    else if (!file_is_dir(s.path) && !row->probe(&s))
        config_blame(cfg, p, KEYS("DATA.DATA_PATH"),
                     "DATA.DATA_PATH: '%s' is not a folder%s%s", s.path,
                     guess.len ? ": " : "", guess.len ? guess.buf : "");
    else if (!row->check(&s, &why))
        config_blame(cfg, p, KEYS("DATA.DATA_PATH", key),
                     "DATA.DATA_PATH: %s (%s, DATA.DATASET %s)%s%s", why.buf, key,
                     cfg->data.dataset, guess.len ? ": " : "",
                     guess.len ? guess.buf : "");
    else if (guess.len)
        problems_warn(p, config_where(cfg, "DATA.DATASET"), "DATA.DATA_PATH: %s, not %s",
                      guess.buf, cfg->data.dataset);
    strbuf_release(&why);
    strbuf_release(&guess);
    strbuf_release(&advice);
}

/* Returns the bytes of memory available to this process, without swap: cached images are
 * read all the time. */
static int64_t data_memory(void)
{
    int64_t bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    size_t most = host_memory();

    return most < (size_t)bytes ? (int64_t)most : bytes;
}

/* Returns this process's cache limit in bytes. All processes of a machine (or threads,
 * one per GPU) together use at most half of the memory for training images and an eighth
 * for validation images. */
static int64_t data_memory_share(enum data_split split)
{
    int launched = dist_launched().local_world, threads = machine_processes();

    return data_memory() / (split == DATA_TRAIN ? 2 : 8) /
           (launched > threads ? launched : threads);
}

static int64_t data_cache_bytes(const struct config *cfg, enum data_split split)
{
    if (cfg->data.cache == CACHE_MMAP)
        return cache_path_free_space(cache_dir(cfg->data.index_dir));
    return cfg->data.cache == CACHE_DECODED ? data_memory_share(split) : 0;
}

static void data_hold(const struct config *cfg, enum data_split split, struct dataset *d)
{
    int64_t most = data_memory_share(split);
    struct strbuf size = STRBUF_INIT;

    if (!data_holds(cfg))
        return;
    d->hold = hold_new(d->n, most);
    strbuf_add_bytes(&size, (double)most);
    log_info("caching the files of '%s' in memory (limit %s)", d->name, size.buf);
    strbuf_release(&size);
}

struct dataset *data_open(const struct config *cfg, enum data_split split)
{
    const struct storage *row = storage_find(cfg->data.dataset);
    struct dataset_source s = data_source(cfg, split);
    struct dataset *d;

    if (row && !row->generated && !*s.path)
        usage("DATA.DATA_PATH is empty: set the folder of the data set");
    d = data_part(cfg, split, dataset_open(cfg->data.dataset, &s));
    data_hold(cfg, split, d);
    if (split == DATA_TRAIN && data_parts(cfg))
        log_info("'%s': each of the %d processes always trains on its own part of the "
                 "images, as in Swin (DATA.CACHE_MODE part)",
                 d->name, dist_launched().world);
    return d;
}

/* Warns if the labels use fewer classes than the default of MODEL.NUM_CLASSES: if classes
 * are numbers, only the configuration defines how many there are. */
static void warn_of_default(const struct config *cfg, const struct dataset *d)
{
    int32_t most = 0;

    for (int64_t i = 0; i < d->n; i++)
        most = dataset_label(d, i) > most ? dataset_label(d, i) : most;
    if (most + 1 < d->nclass)
        log_warning("the last class in '%s' is '%s', but MODEL.NUM_CLASSES has its "
                    "default, %lld: set --num-classes if there are fewer",
                    d->name, d->class_name[most], (long long)cfg->model.num_classes);
}

/* Sets MODEL.NUM_CLASSES to the number of classes in the data unless it is configured. */
static void adopt_classes(struct config *cfg, const struct dataset *d)
{
    struct strbuf n = STRBUF_INIT;

    if (d->nclass == cfg->model.num_classes && !segment_config(cfg) &&
        !config_where(cfg, "MODEL.NUM_CLASSES") &&
        !storage_find(cfg->data.dataset)->generated)
        warn_of_default(cfg, d);
    if (d->nclass == cfg->model.num_classes || segment_config(cfg) ||
        config_where(cfg, "MODEL.NUM_CLASSES"))
        return;
    strbuf_addf(&n, "%d", d->nclass);
    config_set(cfg, "MODEL.NUM_CLASSES", n.buf);
    log_info("MODEL.NUM_CLASSES is %d, the classes of '%s'", d->nclass, d->name);
    strbuf_release(&n);
}

char *data_misfit(struct config *cfg, const struct dataset *train,
                  const struct dataset *val, const char **key)
{
    const struct dataset *any = train ? train : val;
    struct strbuf why = STRBUF_INIT;

    *key = NULL;
    if (train && val && !dataset_fits(train, val, &why))
        return strbuf_detach(&why);
    if (!any)
        return NULL;
    adopt_classes(cfg, any);
    if (any->nclass == cfg->model.num_classes)
        return NULL;
    *key = "MODEL.NUM_CLASSES";
    return xasprintf("'%s' has %d classes, but MODEL.NUM_CLASSES is %lld", any->name,
                     any->nclass, (long long)cfg->model.num_classes);
}

/* Number of damaged files that is always tolerated, because DATA.MAX_BAD_SHARE of a small
 * data set is less than one file. */
enum { FEW_BAD = 3 };

int data_workers(const struct config *cfg)
{
    enum { MOST = 32 };
    int cores = usable_cores();

    if (cfg->data.num_workers != NUM_WORKERS_AUTO)
        return (int)cfg->data.num_workers;
    return cores < MOST ? cores : MOST;
}

int64_t data_epoch_images(const struct config *cfg, int64_t samples)
{
    return sampler_len(&(struct sampler){.n = samples, .repeats = (int)cfg->aug.repeats});
}

void data_loader_options(const struct config *cfg, enum data_split split,
                         struct loader_options *o)
{
    bool train = split == DATA_TRAIN;
    int64_t batch = cfg->data.batch_size;

    if (!train && cfg->data.val_batch_size)
        batch = cfg->data.val_batch_size;
    *o = (struct loader_options){
        .transform = data_transform(cfg, split),
        .batch = (int)batch,
        .workers = data_workers(cfg),
        .prefetch = (int)cfg->data.prefetch,
        .seed = (uint64_t)cfg->seed,
        .shuffle = train && cfg->data.shuffle,
        .shuffle_shards = (int)cfg->data.shuffle_shards,
        .sampling = (enum sampling)cfg->data.sampler,
        .repeats = train ? (int)cfg->aug.repeats : 1,
        .drop_last = train && cfg->data.drop_last,
        .part = train && data_parts(cfg),
        .mosaic = train && segment_config(cfg) ? cfg->aug.mosaic : 0,
        .replace = train,
        .limits = data_limits(cfg),
        .on_error = cfg->data.on_error == ON_ERROR_FAIL ? LOADER_FAIL : LOADER_SKIP,
        .max_bad_share = cfg->data.max_bad_share,
        .few_bad = FEW_BAD,
        .cache_bytes = data_cache_bytes(cfg, split),
        .cache_shared = cfg->data.cache == CACHE_MMAP,
        .keep = data_keep(cfg),
    };
}

void data_histogram(const struct config *cfg, const struct dataset *train,
                    struct histogram *h)
{
    struct transform t = data_transform(cfg, DATA_VAL);
    struct histogram_options o = {
        .w = t.w,
        .h = t.h,
        .divisor = t.label_divisor,
        .limits = data_limits(cfg),
        .on_error = cfg->data.on_error == ON_ERROR_FAIL ? LOADER_FAIL : LOADER_SKIP,
        .max_bad_share = cfg->data.max_bad_share,
        .few_bad = FEW_BAD,
        .keep = data_keep(cfg),
    };

    histogram_count(h, train, &o);
}
