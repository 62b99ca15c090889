/*
 * trainc pack: writes a data set to containers (OUT/SPLIT-000000.tar, ...) and the class
 * names to OUT/classes.txt. OUT/pack.json records the data set and the options; the same
 * command continues an interrupted pack.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/cache_dir.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "cmd/run.h"
#include "config/choice_tables.h"
#include "dataset/class_set.h"
#include "dataset/table.h"
#include "io/json.h"
#include "pack/pack.h"
#include "train/data_config.h"
#include "train/progress.h"
#include "train/segment_config.h"

enum { SHARD = 10000 }; /* default samples per container */

struct pack_run {
    const struct config *cfg;
    struct pack_options o;
    char *out;
    bool label_maps;
    const char *split; /* the split being packed */
    double start;
};

static void show_progress(int64_t done, int64_t total, void *arg)
{
    const struct pack_run *r = arg;
    double seconds = clock_now() - r->start;

    progress_show(
        &(struct progress){.title = r->split,
                           .done = done,
                           .total = total,
                           .seconds = seconds,
                           .images_per_second = seconds > 0 ? (double)done / seconds : 0,
                           .postfix = ""});
}

static struct dataset_source source_of(const struct pack_run *r, const char *split)
{
    const struct config *cfg = r->cfg;

    return (struct dataset_source){
        .path = cfg->data.data_path,
        .split = split,
        .keep = cache_dir(cfg->data.index_dir),
        .labels = {.set = segment_class_set(cfg),
                   .classes = (int)cfg->model.num_classes,
                   .first = (int)cfg->data.first_class,
                   .train_ids = cfg->data.labels == LABELS_TRAIN_IDS,
                   .replace = cfg->data.label_map,
                   .reduce_zero = cfg->data.reduce_zero_label},
        .label_maps = r->label_maps,
    };
}

static void check_classes(const struct dataset *a, const struct dataset *b)
{
    bool same = a->nclass == b->nclass;

    for (int c = 0; same && c < a->nclass; c++)
        same = strcmp(a->class_name[c], b->class_name[c]) == 0;
    if (!same)
        die("'%s' and '%s' have different classes; all splits of a data set must have "
            "the "
            "same classes",
            b->name, a->name);
}

/* Writes OUT/classes.txt. Exits if an existing one, of an interrupted pack, differs. */
static void write_classes(const struct pack_run *r, const struct dataset *d)
{
    char *path = path_join(r->out, "classes.txt"), *existing;
    struct strbuf text = STRBUF_INIT;

    for (int c = 0; c < d->nclass; c++) {
        if (strpbrk(d->class_name[c], "\r\n") || d->class_name[c][0] == '#' ||
            d->class_name[c][0] == ' ' || !d->class_name[c][0])
            die("the class name '%s' cannot be written to '%s': it is empty, starts with "
                "# "
                "or a space, or contains a line break",
                d->class_name[c], path);
        strbuf_addf(&text, "%s\n", d->class_name[c]);
    }
    existing = file_read(path, NULL);
    if (existing && strcmp(existing, text.buf) != 0)
        die("'%s' lists other classes than '%s'; choose another folder", path, d->name);
    if (!existing && atomic_write_file(path, text.buf, text.len) < 0)
        die("cannot write '%s': %s", path, strerror(errno));
    free(existing);
    free(path);
    strbuf_release(&text);
}

/* True if the folder holds any file except a partly written pack.json of a killed pack. */
static bool holds_files(const char *out)
{
    int n, others = 0;
    char **name = dir_list(out, &n);

    for (int i = 0; i < n; i++)
        others += strcmp(name[i], "pack.json" ATOMIC_ENDING) != 0;
    dir_list_free(name, n);
    return others > 0;
}

/* Writes OUT/pack.json. Exits if an existing one, of an interrupted pack, differs. */
static void check_manifest(const struct pack_run *r)
{
    const struct pack_encoding *how = &r->o.encoding;
    struct strbuf text = STRBUF_INIT;
    struct json_writer w = json_writer(&text);
    char *path = path_join(r->out, "pack.json"), *existing = file_read(path, NULL);

    w.pretty = true;
    json_begin_object(&w, NULL);
    json_put_string(&w, "dataset", r->cfg->data.dataset);
    json_put_string(&w, "data_path", r->cfg->data.data_path);
    json_put_string(&w, "to", r->o.format->name);
    json_put_bool(&w, "label_maps", r->label_maps);
    if (r->label_maps)
        json_put_int(&w, "labels", r->cfg->data.labels);
    json_put_int(&w, "first_class", r->cfg->data.first_class);
    json_put_bool(&w, "decode", how->decode);
    json_put_int(&w, "size", how->size);
    json_put_int(&w, "quality", how->quality);
    json_put_string(&w, "interpolation",
                    how->filter == RESIZE_BILINEAR ? "bilinear" : "bicubic");
    json_put_bool(&w, "exif_rotate", how->limits.rotate);
    json_put_bool(&w, "load_truncated_images", how->limits.truncated);
    json_put_double(&w, "range_low", how->limits.range.lo);
    json_put_double(&w, "range_high", how->limits.range.hi);
    json_put_int(&w, "range_kind", how->limits.range.kind);
    json_put_int(&w, "shard", r->o.shard);
    json_end(&w);
    strbuf_addch(&text, '\n');
    if (existing ? strcmp(existing, text.buf) != 0 : holds_files(r->out))
        die("'%s' holds other files; remove it or choose another folder", r->out);
    if (dir_make_all(r->out))
        die("cannot create the folder '%s': %s", r->out, strerror(errno));
    if (!existing && atomic_write_file(path, text.buf, text.len) < 0)
        die("cannot write '%s': %s", path, strerror(errno));
    free(existing);
    free(path);
    strbuf_release(&text);
}

/* Returns the base name of the containers of split i: the name of the split, unless that
 * is a pattern or contains folders. */
static const char *stem_of(const char *split, int i)
{
    static const char *const plain[] = {"train", "val"};

    return *split && !strpbrk(split, "/{}") ? split : plain[i];
}

static void pack_one(struct pack_run *r, const struct dataset *d, const char *split,
                     const char *stem)
{
    struct pack_result done;
    struct strbuf text = STRBUF_INIT;

    r->split = split;
    r->start = clock_now();
    done = pack_split(&r->o, d, stem);
    progress_wipe();
    if (done.samples + done.kept == 0)
        die("'%s': all %lld samples are unreadable", d->name, (long long)d->n);
    strbuf_add_bytes(&text, (double)done.bytes);
    log_info("'%s': packed %lld samples (%s) into %d %s; skipped %lld, already packed "
             "%lld; %.1f s",
             split, (long long)done.samples, text.buf, done.containers,
             done.containers == 1 ? "container" : "containers", (long long)done.left_out,
             (long long)done.kept, clock_now() - r->start);
    if (stem != split)
        log_info("'%s': its containers are named '%s'", split, stem);
    strbuf_release(&text);
}

/* Exits because the split cannot be opened. why: the reason. If the folder looks like
 * another storage, the message says so. */
static void die_unreadable_split(const struct pack_run *r, const struct storage *row,
                                 const char *split, const char *why)
{
    struct dataset_source s = source_of(r, split);
    struct strbuf guess = STRBUF_INIT;

    if (!row->probe(&s))
        storage_add_guess(row, &s, &guess);
    die("%s%s%s", why, guess.len ? ": " : "", guess.buf ? guess.buf : "");
}

/* Packs the splits that exist. Writes nothing if neither exists or one cannot be opened. */
static void pack_splits(struct pack_run *r, const struct storage *row)
{
    const char *split[] = {r->cfg->data.train_split, r->cfg->data.val_split};
    struct strbuf why[2] = {STRBUF_INIT, STRBUF_INIT};
    struct dataset *d[2] = {NULL, NULL};

    if (!file_exists(r->cfg->data.data_path))
        die("there is no folder '%s' (--data-path)", r->cfg->data.data_path);
    for (int i = 0; i < 2; i++) {
        struct dataset_source s = source_of(r, split[i]);

        if (row->check(&s, &why[i]))
            d[i] = row->open(&s);
    }
    if (!d[0] && !d[1])
        die_unreadable_split(r, row, split[0], why[0].buf);
    if (d[0] && d[1] && !r->label_maps)
        check_classes(d[0], d[1]);
    check_manifest(r);
    if (!r->label_maps)
        write_classes(r, d[d[0] ? 0 : 1]);
    for (int i = 0; i < 2; i++) {
        if (d[i])
            pack_one(r, d[i], split[i], stem_of(split[i], i));
        else
            log_warning("skipping a split: %s", why[i].buf);
        dataset_close(d[i]);
        strbuf_release(&why[i]);
    }
}

static const struct pack_format *format_of(const struct cmdline *line)
{
    const char *dst = cmdline_value(line, "--to");
    struct strbuf why = STRBUF_INIT;

    if (!dst || !names_known(&pack_names, dst, &why)) {
        if (!dst)
            names_add(&why, &pack_names);
        usage("--to %s%s", dst ? "" : "FORMAT is missing: ", why.buf);
    }
    return pack_find(dst);
}

static char *out_of(const struct cmdline *line)
{
    const char *out = cmdline_value(line, "--out");
    size_t n = out ? strlen(out) : 0;

    if (n == 0)
        usage("no output folder: give --out DIR");
    while (n > 1 && out[n - 1] == '/')
        n--;
    return xstrndup(out, n);
}

/* Exits if flags or keys conflict. */
static void check_options(const struct pack_run *r, const struct storage *row,
                          const struct cmdline *line)
{
    const struct config *cfg = r->cfg;
    const struct pack_encoding *how = &r->o.encoding;

    if (row->generated)
        usage("DATA.DATASET %s generates its images, so there are no files to pack",
              row->name);
    if (!*cfg->data.data_path)
        usage("DATA.DATA_PATH is empty; give the folder of the data set with --data-path "
              "DIR");
    if (r->o.format->single_file && cmdline_has(line, "--shard"))
        usage("--shard has no effect: --to %s writes one file per split",
              r->o.format->name);
    if (how->decode && how->quality)
        usage("--quality has no effect: decoded images are not compressed");
    if (cmdline_has(line, "--label-maps") && !r->label_maps)
        usage("--label-maps: DATA.DATASET %s has no label maps", row->name);
    if (cfg->data.first_class &&
        (r->label_maps || !storage_reads(row, "DATA.FIRST_CLASS")))
        log_warning(
            "DATA.FIRST_CLASS has no effect: the classes of this data set are not "
            "numbers");
    if (cfg->data.exif_rotate && !how->decode && !how->size && !how->quality)
        log_warning("DATA.EXIF_ROTATE has no effect on pack, which copies images "
                    "unchanged; set it for training");
}

static int pack_run(struct config *cfg, const struct cmdline *line)
{
    const struct storage *row = storage_find(cfg->data.dataset);
    int64_t size = run_flag_number(line, "--size", 0, 1, 65536);
    int64_t quality = run_flag_number(line, "--quality", 0, 1, 100);
    const struct pack_format *format = format_of(line);
    bool decode = cmdline_has(line, "--decode") || format->decodes;
    struct pack_run r = {.cfg = cfg, .out = out_of(line)};

    r.label_maps = row->labels == STORAGE_LABEL_MAPS ||
                   (row->labels == STORAGE_EITHER && cmdline_has(line, "--label-maps"));
    r.o = (struct pack_options){
        .format = format,
        .encoding = {.size = (int)size,
                     .quality = (int)quality,
                     .decode = decode,
                     .filter = cfg->data.interpolation == INTERPOLATION_BILINEAR
                                   ? RESIZE_BILINEAR
                                   : RESIZE_BICUBIC,
                     .limits = data_limits(cfg)},
        .out = r.out,
        .shard = run_flag_number(line, "--shard", SHARD, 0, INT64_MAX),
        .threads = data_workers(cfg) > 0 ? data_workers(cfg) : 1,
        .fail = cfg->data.on_error == ON_ERROR_FAIL,
        .progress = show_progress,
        .arg = &r,
    };
    check_options(&r, row, line);
    if (r.label_maps && cfg->data.class_colors.n)
        log_info("packing label maps as class indices: train on them with "
                 "DATA.CLASS_NAMES, without DATA.CLASS_COLORS");
    progress_init(cfg->log.progress);
    pack_splits(&r, row);
    free(r.out);
    return EXIT_OK;
}

static const struct cmd_flag pack_flags[] = {
    {"--to", "FORMAT", "container format: a DATA.DATASET"},
    {"--out", "DIR", "folder for the containers"},
    {"--shard", "N", "samples per container (10000); 0: one container per split"},
    {"--size", "N",
     "shrink larger images to a shorter side of N pixels; lossy sources (JPEG, AVIF, "
     "most "
     "WebP) become JPEG of quality 90, others PNG; smaller images are copied unchanged, "
     "unless --exif-rotate"},
    {"--quality", "Q", "encode all images as JPEG of quality Q (1 to 100)"},
    {"--decode", NULL, "store uncompressed pixels (PPM, PGM)"},
    {"--label-maps", NULL, "pack label maps instead of classes"},
    {0},
};

static const char *const pack_reads[] = {"DATA.DATASET",
                                         "DATA.DATA_PATH",
                                         "DATA.TRAIN_SPLIT",
                                         "DATA.VAL_SPLIT",
                                         "DATA.LABELS",
                                         "DATA.NUM_WORKERS",
                                         "DATA.ON_ERROR",
                                         "DATA.INTERPOLATION",
                                         "DATA.MAX_PIXELS",
                                         "DATA.MAX_BYTES",
                                         "DATA.CLASS_SET",
                                         "MODEL.NUM_CLASSES",
                                         "DATA.EXIF_ROTATE",
                                         "DATA.LOAD_TRUNCATED_IMAGES",
                                         "DATA.RANGE",
                                         "DATA.FIRST_CLASS",
                                         "DATA.INDEX_DIR",
                                         "LOG.PROGRESS",
                                         NULL};

static void pack_check(const struct config *cfg, const struct cmdline *line,
                       struct problems *p)
{
    (void)line;
    (void)names_check(&storage_names, cfg, p, "DATA.DATASET");
    (void)names_check(&class_set_names, cfg, p, "DATA.CLASS_SET");
    if (cfg->model.task == TASK_MULTILABEL || cfg->model.task == TASK_REGRESSION)
        config_blame(cfg, p, KEYS("MODEL.TASK"),
                     "MODEL.TASK %s: containers hold one class per image",
                     choices_tasks[cfg->model.task].name);
}

const struct verb cmd_pack = {
    .name = "pack",
    .examples =
        (const char *const[]){
            "trainc pack --data-path photos --to tar --out photos.packed",
            "trainc pack --data-path photos --to decoded --size 256 --out photos.256",
            NULL},
    .help = "write a data set's samples into containers: tar, LMDB, TFRecord, ...",
    .about = "Writes the splits of DATA.DATASET in DATA.DATA_PATH to containers "
             "DIR/SPLIT-000000.ENDING, which --dataset FORMAT --data-path DIR reads. "
             "Copies images and label maps unchanged, unless --size, --quality, or "
             "--decode is given; samples keep their order. If it is interrupted, run the "
             "same command again: it continues after the last complete container.",
    .flags = pack_flags,
    .reads = pack_reads,
    .check = pack_check,
    .run = pack_run,
};
