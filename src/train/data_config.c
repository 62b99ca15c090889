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
#include "session/job.h"
#include "session/model_config.h"
#include "train/data_order.h"
#include "train/data_part.h"
#include "train/segment_config.h"

bool data_holds(const struct config *cfg)
{
    bool zip = storage_reads(storage_find(cfg->data.dataset), "DATA.CACHE_MODE");

    if (zip && cfg->data.cache_mode != CACHE_MODE_NO)
        return cfg->data.cache <= CACHE_ENCODED;
    return cfg->data.cache == CACHE_ENCODED;
}

bool data_parts(const struct config *cfg)
{
    return dist_launched().world > 1 && data_holds(cfg) &&
           cfg->data.cache != CACHE_ENCODED && cfg->data.cache_mode == CACHE_MODE_PART;
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
        .values = cfg->model.task == TASK_REGRESSION,
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

/* Appends what the user can do if the data set is missing. Recipes have stand-ins; for
 * users' own images a mistyped path is more likely. */
static void add_advice(const struct config *cfg, const struct storage *row,
                       const char *path, struct strbuf *out)
{
    strbuf_addstr(out, ": set your data set's folder with --data-path DIR");
    if (row->stand_in && !job_decides(cfg))
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
    add_advice(cfg, row, s.path, &advice);
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
        problems_warn(p, config_origin(cfg, "DATA.DATASET"), "DATA.DATA_PATH: %s, not %s",
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
    size_t available = host_memory();

    return available < (size_t)bytes ? (int64_t)available : bytes;
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
    int64_t limit = data_memory_share(split);
    struct strbuf size = STRBUF_INIT;

    if (!data_holds(cfg))
        return;
    d->hold = hold_new(d->n, limit);
    strbuf_add_bytes(&size, (double)limit);
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
    data_order(cfg, d, split == DATA_TRAIN);
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
    int32_t last = 0;

    for (int64_t i = 0; i < d->n; i++)
        last = dataset_label(d, i) > last ? dataset_label(d, i) : last;
    if (last + 1 < d->nclass)
        log_warning("the last class in '%s' is '%s', but MODEL.NUM_CLASSES has its "
                    "default, %lld: set --num-classes if there are fewer",
                    d->name, d->class_name[last], (long long)cfg->model.num_classes);
}

/* Sets MODEL.NUM_CLASSES to the number of classes in the data unless it is configured. */
static void adopt_classes(struct config *cfg, const struct dataset *d)
{
    struct strbuf n = STRBUF_INIT;

    if (d->nclass == cfg->model.num_classes && !segment_config(cfg) &&
        !config_origin(cfg, "MODEL.NUM_CLASSES") &&
        !storage_find(cfg->data.dataset)->generated)
        warn_of_default(cfg, d);
    if (d->nclass == cfg->model.num_classes || segment_config(cfg) ||
        config_origin(cfg, "MODEL.NUM_CLASSES"))
        return;
    strbuf_addf(&n, "%d", d->nclass);
    config_set(cfg, "MODEL.NUM_CLASSES", n.buf);
    log_info("MODEL.NUM_CLASSES is %d, the %s of '%s'", d->nclass,
             d->values ? "targets" : "classes", d->name);
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
    strbuf_addf(&why, "'%s' has %d %s, but MODEL.NUM_CLASSES is %lld", any->name,
                any->nclass, any->values ? "targets" : "classes",
                (long long)cfg->model.num_classes);
    if (train)
        strbuf_addf(&why, ": set --num-classes %d", any->nclass);
    return strbuf_detach(&why);
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
