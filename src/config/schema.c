/*
 * The table of all keys, in the order of `trainc config` and of --help: Swin's 130 keys
 * with Swin's types and defaults, and ours among them. One table on purpose, so that
 * there is one place to look; hence the length of this file. The words of keys with
 * choices are in config/choice_tables.c.
 */
#include "config/schema.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/value_range.h"
#include "config/choice_tables.h"
#include "config/records.h"
#include "config/sections.h"

static const char *check_loss_scale(const char *text)
{
    char *end;
    double f;

    if (!strcmp(text, "dynamic"))
        return NULL;
    f = strtod(text, &end);
    return *text && !*end && f > 0 && f < INFINITY ? NULL
                                                   : "'dynamic' or a number above 0";
}

/* Part of a path that stays below OUTPUT. */
static const char *check_below(const char *text)
{
    size_t n;

    if (*text == '/')
        return "a relative name: OUTPUT is the folder of all runs";
    for (; *text; text += n + (text[n] == '/')) {
        n = strcspn(text, "/");
        if (n == 2 && !strncmp(text, "..", 2))
            return "a name without '..', so that the run stays below OUTPUT";
    }
    return NULL;
}

/* A model's name, or the path of an exported network, whose folder in OUTPUT has only its
 * last part (train/output.h). */
static const char *check_model(const char *text)
{
    size_t len = strlen(text);

    return len > 4 && !strcmp(text + len - 4, ".pt2") ? NULL : check_below(text);
}

static const char *check_range(const char *text)
{
    struct value_range unused;

    return value_range_parse(text, &unused) ? NULL
                                            : "auto, LO,HI, or LO%,HI%, LO below HI";
}

/* .type and .offset both come from the field, so the row and the struct cannot differ. */
#define FIELD(f)                                                                         \
    .field = #f, .offset = offsetof(struct config, f),                                   \
    .type = _Generic(((struct config *)0)->f,                                            \
                     bool: SCHEMA_BOOL,                                                  \
                     int: SCHEMA_CHOICE,                                                 \
                     int64_t: SCHEMA_INT,                                                \
                     double: SCHEMA_FLOAT,                                               \
                     const char *: SCHEMA_STR,                                           \
                     struct bool_opt: SCHEMA_BOOL_OPT,                                   \
                     struct float_opt: SCHEMA_FLOAT_OPT,                                 \
                     struct int_list: SCHEMA_INT_LIST,                                   \
                     struct float_list: SCHEMA_FLOAT_LIST,                               \
                     struct str_list: SCHEMA_STR_LIST,                                   \
                     struct int_table: SCHEMA_INT_TABLE,                                 \
                     struct record_list: SCHEMA_RECORDS,                                 \
                     const struct value *: SCHEMA_LAYERS)

/* NOLINTBEGIN(bugprone-macro-parentheses): keys are joined, fields are named */
#define ROW(KEY, f, ...)                                                                 \
    {                                                                                    \
        .key = KEY, FIELD(f), __VA_ARGS__                                                \
    }
/* A key of a model family, which has its own place for the value: models/options.h. */
#define FAMILY_ROW(KEY, TYPE, ...)                                                       \
    {                                                                                    \
        .key = KEY, .type = SCHEMA_##TYPE, __VA_ARGS__                                   \
    }
#define NEUTRAL     .neutral = true
#define PATH        .path = true
#define RANGE(a, b) .min = (a), .max = (b)
#define ABOVE(a, b) .min = (a), .max = (b), .above = true
#define RECORDS(type, name)                                                              \
    .def = "[]", .record = record_##name, .record_size = sizeof(struct type)
#define NO_LIMIT 1e18
#define EPOCHS   1e9 /* times the updates of an epoch, it is still an int64_t */

#define SWIN_ROWS(KEY)                                                                   \
    FAMILY_ROW(KEY ".PATCH_SIZE", INT, .def = "4", RANGE(1, 1024),                       \
               .help = "side of a patch in pixels"),                                     \
        FAMILY_ROW(KEY ".IN_CHANS", INT, .def = "3", RANGE(1, 1024),                     \
                   .help = "channels of the input"),                                     \
        FAMILY_ROW(KEY ".EMBED_DIM", INT, .def = "96", RANGE(1, 65536),                  \
                   .help = "channels of the first stage; each stage doubles them"),      \
        FAMILY_ROW(KEY ".DEPTHS", INT_LIST, .def = "[2, 2, 6, 2]", RANGE(1, 1000),       \
                   .help = "blocks in each stage"),                                      \
        FAMILY_ROW(KEY ".NUM_HEADS", INT_LIST, .def = "[3, 6, 12, 24]", RANGE(1, 65536), \
                   .help = "attention heads in each stage"),                             \
        FAMILY_ROW(KEY ".WINDOW_SIZE", INT, .def = "7", RANGE(1, 1024),                  \
                   .help = "side of an attention window in tokens"),                     \
        FAMILY_ROW(KEY ".MLP_RATIO", FLOAT, .def = "4.0", ABOVE(0, 64),                  \
                   .help = "ratio of the MLP's hidden channels to its inputs"),          \
        FAMILY_ROW(KEY ".APE", BOOL, .def = "False",                                     \
                   .help = "add an absolute position embedding"),                        \
        FAMILY_ROW(KEY ".PATCH_NORM", BOOL, .def = "True",                               \
                   .help = "layer norm after the patch embedding")
#define QKV_BIAS_ROW(KEY)                                                                \
    FAMILY_ROW(KEY ".QKV_BIAS", BOOL, .def = "True",                                     \
               .help = "bias of the query, key, and value projections")
#define QK_SCALE_ROW(KEY)                                                                \
    FAMILY_ROW(KEY ".QK_SCALE", FLOAT_OPT, .def = "None", .nullable = true,              \
               .help = "scale of the attention logits; None: 1/sqrt(head width)")
#define WINDOW_SIZES_ROW(KEY)                                                            \
    FAMILY_ROW(                                                                          \
        KEY ".PRETRAINED_WINDOW_SIZES", INT_LIST, .def = "[0, 0, 0, 0]", RANGE(0, 1024), \
        .help = "window sizes of the pretrained weights in each stage; 0: unchanged")

/* NOLINTEND(bugprone-macro-parentheses) */

static const char fused[] = "kernels are fused wherever the device has a fused kernel";
static const char validation[] = "validation reads every image once, in order";

const struct schema schema_table[] = {
    /* the run */
    ROW("BASE", base, NEUTRAL, .def = "['']",
        .help = "configuration files to load first, relative to this file"),
    ROW("VERSION", version, .def = "1", RANGE(1, 1),
        .help = "version of the configuration format"),
    ROW("DEFAULTS", defaults, NEUTRAL, .def = "auto", .choices = choices_defaults,
        .help = "source of unset keys: job: chosen from the images, the model, and the "
                "length of the run (docs/fine-tuning.md); swin: Swin's recipe; auto: "
                "swin with a configuration file without MODEL.LAYERS, else job"),
    ROW("OUTPUT", output, NEUTRAL, PATH, .flag = "--output", .metavar = "DIR",
        .help = "folder for all runs; this one writes to OUTPUT/NAME/TAG"),
    ROW("TAG", tag, NEUTRAL, .def = "default", .check = check_below, .flag = "--tag",
        .metavar = "NAME", .help = "name of this run, a folder in OUTPUT/NAME"),
    ROW("SEED", seed, .def = "0", RANGE(0, NO_LIMIT), .flag = "--seed",
        .help = "seed of all random numbers"),
    ROW("DEVICE", device, NEUTRAL, .def = "auto", .flag = "--device", .metavar = "DEVICE",
        .help = "device to run on; trainc summary also accepts a GPU of another machine: "
                "a known name, or FILE.json written by trainc devices --json"),
    ROW("THREADS", threads, NEUTRAL, .def = "0", RANGE(0, 4096), .flag = "--threads",
        .metavar = "N",
        .help = "CPU threads; 0: OMP_NUM_THREADS, or else all cores (in a container at "
                "most its CPU quota)"),
    ROW("LOCAL_RANK", local_rank, .def = "0", RANGE(0, 65536),
        .no_effect = "ranks come from the launcher", .flag = "--local-rank",
        .help = "rank on this machine, as old launchers pass it"),
    ROW("EVAL_MODE", eval_mode, NEUTRAL, .def = "False", .flag = "--eval",
        .help = "evaluate and exit without training"),
    ROW("THROUGHPUT_MODE", throughput_mode, NEUTRAL, .def = "False",
        .flag = "--throughput", .help = "measure images per second and exit"),
    ROW("SAVE_FREQ", save_freq, NEUTRAL, .def = "1", RANGE(1, EPOCHS),
        .flag = "--save-freq", .metavar = "N", .help = "epochs between checkpoints"),
    ROW("PRINT_FREQ", print_freq, NEUTRAL, .def = "10", RANGE(1, NO_LIMIT),
        .flag = "--print-freq, --log-interval", .metavar = "N",
        .help = "steps between log lines"),
    ROW("HOOKS", hooks, NEUTRAL, RECORDS(config_hook, hook),
        .help =
            "commands that a training run starts at certain moments, with its metrics in "
            "environment variables: [{at: epoch, run: 'cp best.safetensors /store'}]"),
    ROW("LOSSES", losses, RECORDS(config_loss, loss),
        .help = "losses whose weighted sum is minimized: [{type: cross_entropy}, {type: "
                "cross_entropy, weight: 0.4, stage: 2}]; empty: TRAIN.LOSS.NAME"),
    ROW("AMP_ENABLE", amp_enable, .def = "True", .flag = "--amp",
        .no_flag = "--disable-amp", .help = "mixed precision"),
    ROW("AMP_OPT_LEVEL", amp_opt_level, .choices = choices_amp_opt_levels,
        .flag = "--amp-opt-level",
        .help = "O0 to O3 as in Apex, except that O3 keeps biases, norms, and statistics "
                "in fp32; empty: O1 with AMP_ENABLE, else O0"),
    ROW("ENABLE_AMP", enable_amp, .def = "False",
        .no_effect = "only SimMIM's scripts read it; use AMP_ENABLE",
        .help = "SimMIM's name for AMP_ENABLE"),
    ROW("FUSED_WINDOW_PROCESS", fused_window_process, .def = "False", .no_effect = fused,
        .flag = "--fused-window-process", .help = "Swin's fused window kernels"),
    ROW("FUSED_LAYERNORM", fused_layernorm, .def = "False", .no_effect = fused,
        .flag = "--fused-layernorm", .help = "Apex's fused layer norm"),

    /* mixed precision */
    ROW("AMP.DTYPE", amp.dtype, .def = "auto", .choices = choices_amp_dtypes,
        .flag = "--amp-dtype",
        .help = "half type; auto: fp16 on CUDA, bf16 on a CPU that has it, else fp32"),
    ROW("AMP.FP32", amp.fp32, .def = "[]",
        .help = "patterns of layers that compute in fp32 at every level, e.g. head.*"),
    ROW("AMP.HALF", amp.half, .def = "[]",
        .help =
            "patterns of layers that also compute in the half type at O1 although their "
            "inputs or type would not, e.g. layer1.0.bn1; losses always compute in fp32"),
    ROW("AMP.KEEP_BATCHNORM_FP32", amp.keep_batchnorm_fp32, .def = "None",
        .nullable = true,
        .help = "O2, O3: batch norm weights stay fp32; False: the optimizer rounds them "
                "to the half type; None: True. Statistics are always fp32"),
    ROW("AMP.MASTER_WEIGHTS", amp.master_weights, .def = "None", .nullable = true,
        .help =
            "O2, O3: the optimizer updates fp32 weights; False: it rounds them to the "
            "half type; None: True at O2, False at O3"),
    ROW("AMP.LOSS_SCALE", amp.loss_scale, .def = "dynamic", .check = check_loss_scale,
        .flag = "--loss-scale", .metavar = "SCALE",
        .help = "factor of the loss: a number, or 'dynamic' (fp16 only, else 1), without "
                "an upper limit like torch's GradScaler; Apex stops at 2^24"),
    ROW("AMP.INIT_SCALE", amp.init_scale, .def = "65536.0", ABOVE(0, 1e30),
        .help = "first dynamic loss scale"),
    ROW("AMP.GROWTH_FACTOR", amp.growth_factor, .def = "2.0", RANGE(1, 1e6),
        .help = "factor of the loss scale after GROWTH_INTERVAL steps without overflow"),
    ROW("AMP.BACKOFF_FACTOR", amp.backoff_factor, .def = "0.5", ABOVE(0, 1),
        .help = "factor of the loss scale after an overflow"),
    ROW("AMP.GROWTH_INTERVAL", amp.growth_interval, .def = "2000", RANGE(1, NO_LIMIT),
        .help = "steps in a row without overflow before the loss scale grows"),
    ROW("AMP.NUM_LOSSES", amp.num_losses, .def = "1", RANGE(1, 8),
        .help = "the number of LOSSES: each gets its own loss scale and backward pass, "
                "as in Apex; 1: one for their sum"),
    ROW("AMP.MIN_SCALE", amp.min_scale, .def = "1.0", ABOVE(0, 1e30),
        .help = "smallest loss scale"),
    ROW("AMP.MAX_SKIPS", amp.max_skips, NEUTRAL, .def = "25", RANGE(1, NO_LIMIT),
        .help = "stop after this many skipped steps in a row"),
    ROW("AMP.INJECT_OVERFLOW_AT", amp.inject_overflow_at, .def = "0",
        RANGE(0, 2147483647),
        .help = "for tests: make the gradients of this step infinite; 0: never"),

    /* GPUs */
    ROW("CUDA.GRAPH", cuda.graph, NEUTRAL, .def = "True", .flag = "--graph",
        .help = "replay the step as one CUDA graph; False: launch each kernel"),
    ROW("CUDNN.BENCHMARK", cudnn.benchmark, .def = "True",
        .help = "time the engines of cuDNN and cuBLASLt at the first start; keep the fastest"),
    ROW("CUDNN.DETERMINISTIC", cudnn.deterministic, .def = "False",
        .flag = "--deterministic",
        .help = "use only deterministic engines, chosen by rule instead of by time; on a "
                "CPU: ignore the kernels that trainc bench --tune chose"),
    ROW("CUDNN.ALLOW_TF32", cudnn.allow_tf32, .def = "True",
        .help = "fp32 GEMMs and convolutions may round their inputs to TF32"),
    ROW("CUDNN.FUSE", cudnn.fuse, .def = "True",
        .help = "fuse into one cuDNN plan a convolution (or its gradient) with the "
                "operations after it, all of attention, and a layer norm with the sum "
                "before it; False: a kernel for each"),
    ROW("CUDNN.WORKSPACE_LIMIT", cudnn.workspace_limit, .def = "268435456",
        RANGE(1, NO_LIMIT), .help = "largest workspace of an engine in bytes"),
    ROW("CUDNN.CACHE", cudnn.cache, NEUTRAL, PATH, .def = "auto", .metavar = "DIR",
        .help = "folder for cached plans and timings, also of a CPU (trainc bench "
                "--tune); auto: trainc in XDG_CACHE_HOME or ~/.cache; empty: no cache"),

    /* looking for defects */
    ROW("DEBUG.REDZONES", debug.redzones, NEUTRAL, .def = "False",
        .help = "put 256 bytes of NaN before and after each tensor of the arena: a "
                "kernel that reads them produces NaN, and one that writes them stops the "
                "first step with its name"),

    /* several processes */
    ROW("DIST.TIMEOUT", dist.timeout, NEUTRAL, .def = "300", RANGE(1, 1e9),
        .flag = "--dist-timeout", .metavar = "SECONDS",
        .help = "seconds that a process waits for the others before it stops the run"),

    ROW("DIST.BUCKET_MB", dist.bucket_mb, .def = "25", RANGE(1, 65536),
        .help = "MiB of gradients per all-reduce, which overlaps with backward"),
    ROW("DIST.HALF_GRADIENTS", dist.half_gradients, .def = "False",
        .help = "all-reduce gradients in 16 bits if mixed precision uses their weights "
                "in 16 bits"),
    ROW("DIST.SHARD_OPTIMIZER", dist.shard_optimizer, .def = "False",
        .help = "each process stores optimizer state for its share of the weights and "
                "updates only that share (ZeRO-1)"),
    ROW("DIST.SHARD_EXPERTS", dist.shard_experts, .def = "False",
        .help = "each process has its share of a mixture's experts, and tokens travel to "
                "the process of their expert (Swin-MoE)"),

    /* 8 bits */
    ROW("QUANT.ENABLE", quant.enable, .def = "False",
        .help = "run the model in 8 bits, as written by trainc quantize; inference only"),
    ROW("QUANT.METHOD", quant.method, .def = "percentile",
        .help = "how trainc quantize finds the ranges of activations"),
    ROW("QUANT.PERCENTILE", quant.percentile, .def = "99.99", RANGE(50, 100),
        .help = "percentile: percentage of an input's values that are not clipped"),
    ROW("QUANT.FIRST", quant.first, .def = "False",
        .help = "also quantize the first layer"),
    ROW("QUANT.LAST", quant.last, .def = "False",
        .help = "also quantize the layer that computes the logits"),
    ROW("QUANT.KEEP", quant.keep, .def = "[]",
        .help = "patterns of layers to keep in floating point, e.g. layer1.*"),

    /* data */
    ROW("DATA.BATCH_SIZE", data.batch_size, .def = "128", RANGE(1, 1048576),
        .word = "auto", .word_value = BATCH_SIZE_AUTO, .flag = "-b, --batch-size",
        .metavar = "N",
        .help = "images per batch and device; auto: as many as fit in the GPU's memory"),
    ROW("DATA.VAL_BATCH_SIZE", data.val_batch_size, NEUTRAL, .def = "0",
        RANGE(0, 1048576), .flag = "--val-batch-size, --validation-batch-size, -vb",
        .metavar = "N", .help = "images per validation batch; 0: DATA.BATCH_SIZE"),
    ROW("DATA.DATA_PATH", data.data_path, NEUTRAL, PATH,
        .flag = "--data-path, --data-dir", .metavar = "DIR",
        .help = "root of the data set; 16-bit PNGs are reduced to the high byte of each "
                "value (Pillow clips 16-bit grays at 255)"),
    ROW("DATA.DATASET", data.dataset, .def = "imagenet", .flag = "--dataset",
        .metavar = "NAME",
        .help = "storage format of the data set in DATA.DATA_PATH; SPLIT is "
                "DATA.TRAIN_SPLIT or DATA.VAL_SPLIT"),
    ROW("DATA.TRAIN_SPLIT", data.train_split, .def = "train", .flag = "--train-split",
        .metavar = "NAME",
        .help = "name of the training split in DATA_PATH, see DATA.DATASET"),
    ROW("DATA.VAL_SPLIT", data.val_split, .def = "val", .flag = "--val-split",
        .metavar = "NAME",
        .help = "name of the validation split in DATA_PATH, see DATA.DATASET"),
    ROW("DATA.IMAGE_COLUMN", data.image_column, .flag = "--image-column",
        .metavar = "NAME",
        .help = "tables: column of image paths, or of names without extension; empty: "
                "found by a usual name such as image, image_id, or file_name"),
    ROW("DATA.LABEL_COLUMN", data.label_column, .flag = "--label-column",
        .metavar = "NAME",
        .help = "tables: column of classes; empty: found by a usual name such as label, "
                "class, or category"),
    ROW("DATA.LABEL_SEPARATOR", data.label_separator, .def = "auto",
        .flag = "--label-separator", .metavar = "CHAR",
        .help = "tables with MODEL.TASK multilabel: the character between labels; auto: "
                "the first of | ; , and space that occurs"),
    ROW("DATA.SPLIT_COLUMN", data.split_column, .flag = "--split-column",
        .metavar = "NAME",
        .help =
            "tables: column with the values of TRAIN_SPLIT and VAL_SPLIT; a split !NAME "
            "selects all rows except NAME's; empty: the column called split or subset"),
    ROW("DATA.IMAGE_FOLDER", data.image_folder, .flag = "--image-folder",
        .metavar = "DIR",
        .help = "tables: folder of the images, relative to the table; empty: a usual one "
                "such as images or train"),
    ROW("DATA.VAL_FRACTION", data.val_fraction, .def = "0.0", RANGE(0, 0.9),
        .flag = "--val-fraction", .metavar = "SHARE",
        .help = "share of each class of DATA.TRAIN_SPLIT to validate on instead of to "
                "train on; 0: validate on DATA.VAL_SPLIT"),
    ROW("DATA.FOLD", data.fold, .flag = "--fold", .metavar = "K/N",
        .help = "cross-validation: divide DATA.TRAIN_SPLIT into N stratified folds, "
                "validate on fold K, and train on the others"),
    ROW("DATA.GROUP", data.group, .flag = "--group", .metavar = "REGEX",
        .help = "with VAL_FRACTION or FOLD: keep images of a group in the same part; a "
                "group is what the first parenthesis of this extended regular expression "
                "matches in the file name, e.g. '^([^_]*)_'"),
    ROW("DATA.SPLIT_SEED", data.split_seed, .def = "0", RANGE(0, NO_LIMIT),
        .flag = "--split-seed", .metavar = "N",
        .help = "seed of VAL_FRACTION, FOLD, FRACTION and MAX_VAL_IMAGES"),
    ROW("DATA.FRACTION", data.fraction, .def = "1.0", ABOVE(0, 1), .flag = "--fraction",
        .metavar = "SHARE", .help = "share of each class's training images to use"),
    ROW("DATA.MAX_VAL_IMAGES", data.max_val_images, .def = "0", RANGE(0, NO_LIMIT),
        .flag = "--max-val-images", .metavar = "N",
        .help = "largest number of validation images to use; 0: all"),
    ROW("DATA.TRAIN_NUM_SAMPLES", data.train_num_samples, .def = "2048",
        RANGE(1, NO_LIMIT), .flag = "--train-num-samples", .metavar = "N",
        .help = "training images of a generated data set"),
    ROW("DATA.VAL_NUM_SAMPLES", data.val_num_samples, .def = "256", RANGE(1, NO_LIMIT),
        .flag = "--val-num-samples", .metavar = "N",
        .help = "validation images of a generated data set"),
    ROW("DATA.IMG_SIZE", data.img_size, .def = "224", RANGE(1, 65536),
        .flag = "--img-size", .metavar = "N",
        .help = "side of the square input in pixels"),
    ROW("DATA.IMG_HEIGHT", data.img_height, .def = "0", RANGE(0, 65536),
        .help = "height of the input in pixels; 0: DATA.IMG_SIZE"),
    ROW("DATA.IMG_WIDTH", data.img_width, .def = "0", RANGE(0, 65536),
        .help = "width of the input in pixels; 0: DATA.IMG_SIZE"),
    ROW("DATA.INTERPOLATION", data.interpolation, .def = "bicubic",
        .choices = choices_interpolations, .flag = "--interpolation",
        .help = "how images are resized"),
    ROW("DATA.MEAN", data.mean, .def = "[0.485, 0.456, 0.406]", RANGE(0, 1),
        .flag = "--mean",
        .help = "mean to subtract from each channel (values in [0, 1]): a number per "
                "channel, or one for all; if MODEL.IN_CHANS is not 3, RGB values are "
                "averaged"),
    ROW("DATA.STD", data.std, .def = "[0.229, 0.224, 0.225]", ABOVE(0, 1e6),
        .flag = "--std",
        .help = "standard deviation to divide each channel by; a list like DATA.MEAN"),
    ROW("DATA.CROP_PCT", data.crop_pct, .def = "0.875", RANGE(0.01, 1),
        .flag = "--crop-pct",
        .help = "validation: side of the center crop relative to the shorter side"),
    ROW("DATA.NUM_WORKERS", data.num_workers, NEUTRAL, .def = "8", RANGE(0, 1024),
        .word = "auto", .word_value = NUM_WORKERS_AUTO, .flag = "-j, --workers",
        .metavar = "N",
        .help = "loader threads; 0: the main thread decodes; auto: the number of usable "
                "cores, at most 32"),
    ROW("DATA.PREFETCH", data.prefetch, NEUTRAL, .def = "4", RANGE(1, 1024),
        .help = "batches to load ahead"),
    ROW("DATA.SHUFFLE", data.shuffle, .def = "True", .flag = "--shuffle",
        .help = "training: a new order in every epoch; False: the order of the data set"),
    ROW("DATA.SHUFFLE_SHARDS", data.shuffle_shards, .def = "0", RANGE(0, 1048576),
        .help =
            "training from containers on disks with slow seeks: shuffle the files, and "
            "mix the samples of this many files at a time; 0: shuffle all samples"),
    ROW("DATA.SAMPLER", data.sampler, .def = "uniform", .choices = choices_samplers,
        .flag = "--sampler",
        .help =
            "how to draw training images: uniform: each once per epoch; the others draw "
            "with replacement, like torch's WeightedRandomSampler: balanced: all classes "
            "equally often; sqrt: halfway to balanced; weights: by DATA.WEIGHT_COLUMN"),
    ROW("DATA.WEIGHT_COLUMN", data.weight_column, .flag = "--weight-column",
        .metavar = "NAME", .help = "tables: column of weights for DATA.SAMPLER weights"),
    ROW("DATA.DROP_LAST", data.drop_last, .def = "True", .flag = "--drop-last",
        .help = "training: drop the incomplete last batch of each epoch; False: train on "
                "it as a smaller batch"),
    ROW("DATA.CACHE", data.cache, NEUTRAL, .def = "none", .choices = choices_caches,
        .flag = "--cache",
        .help = "cache images in at most half of the memory: their files (encoded) or "
                "decoded images; mmap: decoded images in a file in DATA.INDEX_DIR shared "
                "by all runs on the machine"),
    ROW("DATA.INDEX_DIR", data.index_dir, NEUTRAL, PATH, .def = "auto",
        .flag = "--index-dir", .metavar = "DIR",
        .help =
            "folder to cache file lists, class counts, and decoded images (DATA.CACHE "
            "mmap) in; auto: trainc in XDG_CACHE_HOME or ~/.cache; empty: no cache. "
            "Caches of earlier versions in DATA.DATA_PATH are read as well"),
    ROW("DATA.DECODE", data.decode, .def = "host", .choices = choices_placements,
        .flag = "--decode",
        .help = "where to decode JPEGs; device: on the GPU by nvJPEG, whose pixels "
                "differ slightly from libjpeg's (on the host if nvJPEG is missing)"),
    ROW("DATA.RESIZE", data.resize, .def = "host", .choices = choices_placements,
        .flag = "--resize",
        .help = "where to resize training images; device: requires AUG.AUTO_AUGMENT none "
                "and implies AUG.ON_DEVICE's operations on the device"),
    ROW("DATA.ON_ERROR", data.on_error, NEUTRAL, .def = "skip",
        .choices = choices_on_errors, .flag = "--on-error",
        .help = "skip: leave out damaged files (in training another image replaces "
                "them); fail: stop the run"),
    ROW("DATA.MAX_BAD_SHARE", data.max_bad_share, NEUTRAL, .def = "0.01", RANGE(0, 1),
        .help = "stop if more than this share of the files is damaged; unless it is 0, "
                "up to three files are always tolerated"),
    ROW("DATA.MAX_PIXELS", data.max_pixels, .def = "178956970", RANGE(1, NO_LIMIT),
        .help = "largest image in pixels; larger images count as damaged"),
    ROW("DATA.MAX_BYTES", data.max_bytes, .def = "268435456", RANGE(1, NO_LIMIT),
        .help = "largest image file in bytes; larger files count as damaged"),
    ROW("DATA.LOAD_TRUNCATED_IMAGES", data.load_truncated_images, .def = "False",
        .flag = "--load-truncated-images",
        .help = "decode truncated files as far as possible, with a warning, like Pillow "
                "with ImageFile.LOAD_TRUNCATED_IMAGES; False: they count as damaged"),
    ROW("DATA.RANGE", data.range, .def = "auto", .check = check_range, .flag = "--range",
        .metavar = "LO,HI",
        .help = "TIFFs and PNGs of more than 8 bits: values mapped to black and white, "
                "LO,HI, or LO%,HI% for percentiles of each image; auto: the range of the "
                "type, or for floats the image's minimum and maximum"),
    ROW("DATA.EXIF_ROTATE", data.exif_rotate, .def = "False", .flag = "--exif-rotate",
        .help = "apply the EXIF orientation, like Pillow's ImageOps.exif_transpose; "
                "False: ignore it, like torchvision and timm"),
    ROW("DATA.CHECK_CLASSES", data.check_classes, NEUTRAL, .def = "True",
        .help = "reject a checkpoint whose class list differs from the data set's"),
    ROW("DATA.FIRST_CLASS", data.first_class, .def = "0", RANGE(0, 1),
        .help = "index of the first class in containers and lists with numeric classes: "
                "1 if they count from 1, like ImageNet's TFRecords"),
    ROW("DATA.CLASS_SET", data.class_set, .flag = "--class-set", .metavar = "NAME",
        .help = "segmentation: names and label values of the classes; empty: values 0 to "
                "MODEL.NUM_CLASSES - 1, and 255 is ignored"),
    ROW("DATA.CLASS_NAMES", data.class_names, .def = "[]",
        .help = "segmentation: a name for each class if DATA.CLASS_SET is empty"),
    ROW("DATA.LABELS", data.labels, .def = "ids", .choices = choices_label_kinds,
        .help = "values in Cityscapes' label files: ids (labelIds) or train_ids "
                "(labelTrainIds)"),
    ROW("DATA.LABEL_MAP", data.label_map, .def = "[]", RANGE(0, 255),
        .help = "segmentation: pairs [VALUE, NEW]: [[255, 1]] reads 255 in label files "
                "as 1, and [v, 255] ignores v; other values are unchanged"),
    ROW("DATA.REDUCE_ZERO_LABEL", data.reduce_zero_label, .def = "False",
        .help = "segmentation: ignore 0 in label files and subtract 1 from all other "
                "values (after DATA.LABEL_MAP), as in mmsegmentation"),
    ROW("DATA.CLASS_COLORS", data.class_colors, .def = "[]", .numbers = true,
        .help = "segmentation with colored label files: the color of each class, [[128, "
                "64, 128], \"#804080\", ...], or a file with a line '128 64 128 Road' or "
                "'Road,128,64,128' for each"),
    ROW("DATA.IGNORED_COLORS", data.ignored_colors, .def = "[]", .numbers = true,
        .help = "segmentation with colored label files: colors to ignore, written like "
                "DATA.CLASS_COLORS; others: ignore every color that is not a class "
                "(default: an error)"),
    ROW("DATA.ZIP_MODE", data.zip_mode, NEUTRAL, .def = "False", .flag = "--zip",
        .help = "read DATA.DATASET imagenet from zip files, as in Swin; see DATA.DATASET "
                "zip"),
    ROW("DATA.CACHE_MODE", data.cache_mode, NEUTRAL, .def = "part",
        .choices = choices_cache_modes, .flag = "--cache-mode",
        .help = "Swin's cache of zip files: full and part keep image files in memory "
                "like DATA.CACHE encoded, and with part each process always trains on "
                "its own part of the images; no: use DATA.CACHE"),
    ROW("DATA.PIN_MEMORY", data.pin_memory, NEUTRAL, .def = "True", .flag = "--pin-mem",
        .help =
            "load batches into page-locked memory if the device copies faster from it"),
    ROW("DATA.MASK_PATCH_SIZE", data.mask_patch_size, .def = "32", RANGE(1, 65536),
        .help = "MODEL.TASK simmim: side of the masked patches, in pixels"),
    ROW("DATA.MASK_RATIO", data.mask_ratio, .def = "0.6", ABOVE(0, 1),
        .help = "MODEL.TASK simmim: share of the masked patches, rounded up"),

    /* model */
    ROW("MODEL.TYPE", model.type, .def = "swin", .flag = "--model-type",
        .metavar = "TYPE",
        .help = "model family, see `trainc models`; a known MODEL.NAME implies it"),
    ROW("MODEL.NAME", model.name, .def = "swin_tiny_patch4_window7_224",
        .check = check_model, .flag = "--model", .metavar = "NAME",
        .help =
            "model, see `trainc models`, or a network that PyTorch exported "
            "(net.pt2); of MODEL.LAYERS: any name; also the name of a folder in OUTPUT"),
    ROW("MODEL.EVAL", model.eval, .flag = "--model-eval", .metavar = "FILE",
        .help = "of MODEL.NAME net.pt2, the same network exported in eval mode, for "
                "networks that compute something else in it; empty: the graph of "
                "MODEL.NAME without dropout, with running statistics"),
    ROW("MODEL.HEAD", model.head, .def = "[]", .flag = "--head",
        .help = "of MODEL.NAME net.pt2, the layers whose outputs are the classes, which "
                "another MODEL.NUM_CLASSES replaces, e.g. [head, head_dist]; []: the last "
                "linear layer or convolution of each output"),
    ROW("MODEL.LAYERS", model.layers, .def = "[]",
        .help =
            "a network of your own: its layers, [{op: conv2d, out_channels: 8, "
            "kernel_size: 3}, relu, ...]; `trainc help layers` lists ops and arguments"),
    ROW("MODEL.BLOCKS", model.blocks, .def = "[]",
        .help = "blocks that MODEL.LAYERS uses as ops: [{name: basic, args: {width: 64}, "
                "layers: [...]}]"),
    ROW("MODEL.PRETRAINED", model.pretrained, NEUTRAL, PATH, .flag = "--pretrained",
        .metavar = "[WEIGHTS]", .bare = "auto",
        .help = "weights to start from: a .safetensors or torch.save (.pth) file, a name "
                "from `trainc models --pretrained` or hf-hub:OWNER/NAME (downloaded "
                "once), or local-dir:FOLDER; auto, or --pretrained without a value: the "
                "weights of MODEL.NAME"),
    ROW("MODEL.OFFLINE", model.offline, NEUTRAL, .def = "False", .flag = "--offline",
        .help = "never download: named weights must already be on this machine"),
    ROW("MODEL.PRETRAINED_SKIP", model.pretrained_skip, NEUTRAL, .def = "[]",
        .help = "patterns of tensors that may be missing in the weights or the model: "
                "with decoder.* the decoder keeps its initial weights"),
    ROW("MODEL.PRETRAINED_TABLES", model.pretrained_tables, NEUTRAL, .def = "auto",
        .choices = choices_bias_tables,
        .help = "how to resize Swin's position bias tables to another window: timm "
                "(geometrically growing steps) or microsoft (bicubic); auto: microsoft "
                "for weights with Microsoft's tensor names, else timm"),
    ROW("MODEL.TEACHER", model.teacher, PATH, .flag = "--teacher", .metavar = "FILE",
        .help = "teacher weights for a loss of type distill: a checkpoint, or a state "
                "dict with timm's names"),
    ROW("MODEL.TEACHER_MODEL", model.teacher_model, .flag = "--teacher-model",
        .metavar = "NAME",
        .help = "teacher model; empty: the same model with the same keys as this run"),
    ROW("MODEL.RESUME", model.resume, NEUTRAL, PATH, .flag = "--resume",
        .metavar = "FILE", .help = "checkpoint to resume from"),
    ROW("MODEL.TASK", model.task, .def = "classify", .choices = choices_tasks,
        .flag = "--task",
        .help =
            "of a classifier: classify: one class per image; multilabel: any number "
            "of labels per image (DATA.DATASET csv); regression: numbers instead of "
            "classes (DATA.DATASET csv); ordinal: classes with an order; simmim: "
            "pre-training without labels, from masked images (MODEL.TYPE swin, swinv2, "
            "vit)"),
    ROW("MODEL.NUM_CLASSES", model.num_classes, .def = "1000", RANGE(1, 1048576),
        .flag = "--num-classes", .metavar = "N", .help = "outputs of the classifier"),
    ROW("MODEL.IN_CHANS", model.in_chans, .def = "3", RANGE(1, 32), .flag = "--in-chans",
        .metavar = "N",
        .help = "channels of the images: 1 grayscale, 3 RGB; other counts as stored in "
                "the files (PNG with alpha, samples or pages of a TIFF)"),
    ROW("MODEL.FEATURES_ONLY", model.features_only, .def = "False",
        .help = "build the model only up to the last stage in OUT_INDICES, without "
                "classifier (`trainc features` and `summary`)"),
    ROW("MODEL.OUT_INDICES", model.out_indices, .def = "[]", RANGE(-1000, 1000),
        .flag = "--out-indices", .metavar = "N",
        .help = "stages to output with FEATURES_ONLY, counted from 0 (-1: the last); []: "
                "all (vit: the last three)"),
    ROW("MODEL.DROP_RATE", model.drop_rate, .def = "0.0", RANGE(0, 1),
        .flag = "--drop, --dropout",
        .help = "dropout before the classifier (Swin: everywhere)"),
    ROW("MODEL.DROP_PATH_RATE", model.drop_path_rate, .def = "0.1", RANGE(0, 1),
        .flag = "--drop-path", .help = "stochastic depth: drop rate of the last block"),
    ROW("MODEL.LABEL_SMOOTHING", model.label_smoothing, .def = "0.1", RANGE(0, 1),
        .flag = "--smoothing, --label-smoothing",
        .help = "share of the target that is spread over all classes"),
    ROW("MODEL.SYNC_BN", model.sync_bn, .def = "False", .flag = "--sync-bn",
        .help = "compute batch norm statistics over the batches of all processes"),
    ROW("MODEL.SYNC_BN_GROUP", model.sync_bn_group, .def = "0", RANGE(0, 1048576),
        .help = "processes per SYNC_BN group, by rank; 0: all in one group"),
    ROW("MODEL.FOLD_BN", model.fold_bn, .def = "none", .choices = choices_fold_bn,
        .help = "fold the last batch norm of residual branches into its 1x1 convolution "
                "while training: none; auto: on GPUs, where that moves fewer bytes; all"),
    ROW("MODEL.GELU_TANH", model.gelu_tanh, .def = "False",
        .help = "compute GELU in its tanh form, which GPUs fuse into linear layers; it "
                "differs by up to 5e-4"),
    ROW("MODEL.INIT", model.init, .flag = "--init",
        .help = "weight initialization; empty: the model's default. kaiming_*: fan-out "
                "for convolutions, fan-in for linear layers"),
    ROW("MODEL.BACKBONE", model.backbone, .flag = "--backbone", .metavar = "NAME",
        .help =
            "classifier whose stages a segmentation net is built on, such as resnet50 "
            "(`trainc models`); empty: the model's own"),
    ROW("MODEL.PRETRAINED_BACKBONE", model.pretrained_backbone, NEUTRAL, PATH,
        .flag = "--pretrained-backbone", .metavar = "WEIGHTS",
        .help = "initial weights of MODEL.BACKBONE, in the forms of MODEL.PRETRAINED: a "
                "file, a name such as resnet50.a1_in1k, or auto"),
    ROW("MODEL.AUX_WEIGHT", model.aux_weight, .def = "None", .nullable = true,
        RANGE(0, 1000),
        .help =
            "weight of the losses on a model's auxiliary heads in training; None: the "
            "model's own; 0: no auxiliary heads"),
    ROW("MODEL.OUTPUT_STRIDE", model.output_stride, .def = "0", RANGE(0, 1024),
        .flag = "--output-stride", .metavar = "N",
        .help = "largest image size / map size: later stages have dilated convolutions "
                "instead of strides (8 or 16 for dense features); 0: the model's own"),
    ROW("MODEL.SKIP_STRIDES", model.skip_strides, .def = "0", RANGE(0, 5),
        .flag = "--skip-strides", .metavar = "N",
        .help = "how many of the first layers with stride 2 have stride 1 instead, for "
                "small images (32x32 pixels: 2)"),
    FAMILY_ROW("MODEL.RESNET.STEM", STR, .def = "auto",
               .help = "first layers; auto: the model's default"),
    FAMILY_ROW("MODEL.RESNET.SHORTCUT", STR, .def = "auto",
               .help = "shortcut where the size changes; auto: the model's default"),
    FAMILY_ROW("MODEL.RESNET.ZERO_INIT_LAST", BOOL_OPT, .def = "None", .nullable = true,
               .help = "initialize the last gamma of each branch to zero; None: the "
                       "model's default"),

    /* Swin */
    SWIN_ROWS("MODEL.SWIN"),
    QKV_BIAS_ROW("MODEL.SWIN"),
    QK_SCALE_ROW("MODEL.SWIN"),
    SWIN_ROWS("MODEL.SWINV2"),
    QKV_BIAS_ROW("MODEL.SWINV2"),
    WINDOW_SIZES_ROW("MODEL.SWINV2"),
    SWIN_ROWS("MODEL.SWIN_MLP"),
    SWIN_ROWS("MODEL.SWIN_MOE"),
    QKV_BIAS_ROW("MODEL.SWIN_MOE"),
    QK_SCALE_ROW("MODEL.SWIN_MOE"),
    WINDOW_SIZES_ROW("MODEL.SWIN_MOE"),
    FAMILY_ROW("MODEL.SWIN_MOE.MLP_FC2_BIAS", BOOL, .def = "True",
               .help = "bias of the second MLP layer"),
    FAMILY_ROW("MODEL.SWIN_MOE.INIT_STD", FLOAT, .def = "0.02", ABOVE(0, 1),
               .help = "standard deviation of the initial weights"),
    FAMILY_ROW("MODEL.SWIN_MOE.MOE_BLOCKS", INT_TABLE, .def = "[[-1], [-1], [-1], [-1]]",
               RANGE(-1, 1000), .help = "blocks with experts in each stage; -1: none"),
    FAMILY_ROW("MODEL.SWIN_MOE.NUM_LOCAL_EXPERTS", INT, .def = "1", RANGE(-65536, 65536),
               .help =
                   "if NUM_EXPERTS is 0: experts per process; negative: processes per "
                   "expert, and an expert takes a multiple of as many tokens"),
    FAMILY_ROW("MODEL.SWIN_MOE.NUM_EXPERTS", INT, .def = "0", RANGE(0, 65536),
               .help =
                   "experts of a block; 0: NUM_LOCAL_EXPERTS and the processes of the "
                   "run decide"),
    FAMILY_ROW("MODEL.SWIN_MOE.TOP_VALUE", INT, .def = "1", RANGE(1, 65536),
               .help = "experts that a token is sent to"),
    FAMILY_ROW("MODEL.SWIN_MOE.CAPACITY_FACTOR", FLOAT, .def = "1.25", RANGE(-1e6, 1e6),
               .help =
                   "tokens that an expert takes, relative to the mean number; 0: all"),
    FAMILY_ROW("MODEL.SWIN_MOE.COSINE_ROUTER", BOOL, .def = "False",
               .help = "route tokens by cosine similarity instead of a linear layer"),
    FAMILY_ROW("MODEL.SWIN_MOE.NORMALIZE_GATE", BOOL, .def = "False",
               .help = "with TOP_VALUE above 1: make the gates of a token sum to 1"),
    FAMILY_ROW("MODEL.SWIN_MOE.USE_BPR", BOOL, .def = "True",
               .help =
                   "experts take the tokens with the greatest scores; False: the first "
                   "ones of the batch"),
    FAMILY_ROW("MODEL.SWIN_MOE.IS_GSHARD_LOSS", BOOL, .def = "False",
               .help =
                   "GShard's balance loss; False: importance and load (Shazeer et al. "
                   "2017)"),
    FAMILY_ROW("MODEL.SWIN_MOE.GATE_NOISE", FLOAT, .def = "1.0", RANGE(0, 1e6),
               .help =
                   "noise of the scores in training: its deviation, times the experts"),
    FAMILY_ROW("MODEL.SWIN_MOE.COSINE_ROUTER_DIM", INT, .def = "256", RANGE(1, 65536),
               .help = "width of the cosine router's projection"),
    FAMILY_ROW("MODEL.SWIN_MOE.COSINE_ROUTER_INIT_T", FLOAT, .def = "0.5", ABOVE(0, 1e6),
               .help = "first temperature of the cosine router"),
    FAMILY_ROW("MODEL.SWIN_MOE.MOE_DROP", FLOAT, .def = "0.0", RANGE(0, 1),
               .help = "dropout in the experts"),
    FAMILY_ROW("MODEL.SWIN_MOE.AUX_LOSS_WEIGHT", FLOAT, .def = "0.01", RANGE(0, 1e6),
               .help = "weight of the balance loss; 0: none"),
    FAMILY_ROW("MODEL.SIMMIM.NORM_TARGET.ENABLE", BOOL, .def = "False",
               .help =
                   "MODEL.TASK simmim: predict pixels that are normalized by the mean "
                   "and deviation around them"),
    FAMILY_ROW("MODEL.SIMMIM.NORM_TARGET.PATCH_SIZE", INT, .def = "47", RANGE(1, 65536),
               .help = "side of the window of that normalization, odd"),

    /* training */
    ROW("TRAIN.START_EPOCH", train.start_epoch, .def = "0", RANGE(0, EPOCHS),
        .flag = "--start-epoch", .metavar = "N", .help = "first epoch"),
    ROW("TRAIN.EPOCHS", train.epochs, .def = "300", RANGE(0, EPOCHS), .flag = "--epochs",
        .metavar = "N", .help = "epochs, warm-up included"),
    ROW("TRAIN.WARMUP_EPOCHS", train.warmup_epochs, .def = "20", RANGE(0, EPOCHS),
        .flag = "--warmup-epochs", .metavar = "N", .help = "epochs of linear warm-up"),
    ROW("TRAIN.WARMUP_SHARE", train.warmup_share, .def = "None", .nullable = true,
        RANGE(0, 1), .flag = "--warmup-share",
        .help = "largest share of the run spent in warm-up; None: WARMUP_EPOCHS, "
                "shortened to a tenth of the run if they would cover all of it"),
    ROW("TRAIN.MAX_STEPS", train.max_steps, NEUTRAL, .def = "0", RANGE(0, NO_LIMIT),
        .flag = "--max-steps", .metavar = "N",
        .help = "stop after this many optimizer steps; 0: no limit"),
    ROW("TRAIN.BEST_METRIC", train.best_metric, .def = "auto",
        .choices = choices_best_metrics, .flag = "--best-metric, --eval-metric",
        .metavar = "SCORE",
        .help =
            "validation score for the best checkpoint, early stopping, and plateau "
            "schedules (loss: smaller is better); auto: top1, or miou for segmentation"),
    ROW("TRAIN.EARLY_STOP", train.early_stop, NEUTRAL, .def = "0", RANGE(0, EPOCHS),
        .flag = "--early-stop", .metavar = "N",
        .help = "stop after N epochs in which neither the weights nor their EMA "
                "improved; 0: never"),
    ROW("TRAIN.BASE_LR", train.base_lr, .def = "0.0005", RANGE(0, 1e6), .flag = "--lr",
        .metavar = "LR", .help = "learning rate after the warm-up, see TRAIN.SCALE_LR"),
    ROW("TRAIN.WARMUP_LR", train.warmup_lr, .def = "5e-07", RANGE(0, 1e6),
        .flag = "--warmup-lr", .metavar = "LR",
        .help = "learning rate at the start of the warm-up"),
    ROW("TRAIN.MIN_LR", train.min_lr, .def = "5e-06", RANGE(0, 1e6), .flag = "--min-lr",
        .metavar = "LR", .help = "cosine, poly: final learning rate"),
    ROW("TRAIN.SCALE_LR", train.scale_lr, .def = "True", .flag = "--scale-lr",
        .help = "multiply the learning rates by images per step / TRAIN.SCALE_LR_BASE"),
    ROW("TRAIN.SCALE_LR_BASE", train.scale_lr_base, .def = "512", RANGE(1, 1048576),
        .help = "images per step for which the learning rates are meant"),
    ROW("TRAIN.WEIGHT_DECAY", train.weight_decay, .def = "0.05", RANGE(0, 1e6),
        .flag = "--weight-decay, --wd", .help = "weight decay"),
    ROW("TRAIN.WEIGHT_DECAY_1D", train.weight_decay_1d, .def = "False",
        .help = "apply weight decay to biases, norms, and other 1-D tensors, too"),
    ROW("TRAIN.LAYER_DECAY", train.layer_decay, .def = "1.0", ABOVE(0, 1),
        .flag = "--layer-decay",
        .help = "factor of the learning rate per layer from the head down, as in timm; "
                "1: the same rate for all"),
    ROW("TRAIN.CLIP_GRAD", train.clip_grad, .def = "5.0", .none = "0", RANGE(0, 1e6),
        .flag = "--clip-grad",
        .help = "largest L2 norm (or value) of the gradients; 0 or None: no clipping"),
    ROW("TRAIN.CLIP_MODE", train.clip_mode, .def = "norm", .choices = choices_clip_modes,
        .flag = "--clip-mode", .help = "what TRAIN.CLIP_GRAD limits"),
    ROW("TRAIN.ACCUMULATION_STEPS", train.accumulation_steps, .def = "1", RANGE(1, 65536),
        .flag = "--accumulation-steps, --grad-accum-steps", .metavar = "N",
        .help = "batches per optimizer step; the last step of an epoch may have fewer"),
    ROW("TRAIN.USE_CHECKPOINT", train.use_checkpoint, NEUTRAL, .def = "False",
        .flag = "--use-checkpoint, --grad-checkpointing",
        .help = "recompute activations in backward to save memory"),
    ROW("TRAIN.FREEZE", train.freeze, .def = "[]", .flag = "--freeze",
        .help = "patterns of parameters that are not trained, e.g. layer1.*; matching "
                "batch norms also keep their statistics"),
    ROW("TRAIN.FREEZE_EPOCHS", train.freeze_epochs, .def = "0", RANGE(0, EPOCHS),
        .flag = "--freeze-epochs", .metavar = "N",
        .help =
            "train the head alone in the first N of TRAIN.EPOCHS, then everything; 0: "
            "everything from the start"),
    ROW("TRAIN.FREEZE_LR", train.freeze_lr, .def = "None", .nullable = true,
        RANGE(0, 1e6), .flag = "--freeze-lr", .metavar = "LR",
        .help =
            "learning rate of the FREEZE_EPOCHS, see TRAIN.SCALE_LR; the schedule and "
            "its warm-up follow them; None: TRAIN.BASE_LR"),
    ROW("TRAIN.FREEZE_HEAD", train.freeze_head, .def = "[]", .flag = "--freeze-head",
        .help = "patterns of the parameters that FREEZE_EPOCHS trains, e.g. head.*; []: "
                "the classifier and the auxiliary classifiers"),
    ROW("TRAIN.CLASS_WEIGHTS", train.class_weights, .def = "none",
        .choices = choices_class_weights, RANGE(0, 1e6),
        .flag = "--class-weights, --class-weight", .metavar = "W",
        .help =
            "loss weight of each class: a list, or computed from the training labels: "
            "balanced: samples / (classes x samples of the class); effective: "
            "(1 - b) / (1 - b^images) (Cui et al. 2019); auto: balanced, or for label "
            "maps 1 / ln(c + share of the class)"),
    ROW("TRAIN.CLASS_WEIGHTS_C", train.class_weights_c, .def = "1.1", ABOVE(1, 100),
        .help = "c in CLASS_WEIGHTS auto, for label maps"),
    ROW("TRAIN.CLASS_WEIGHTS_BETA", train.class_weights_beta, .def = "0.999", RANGE(0, 1),
        .help = "b in CLASS_WEIGHTS effective"),
    ROW("TRAIN.AUTO_RESUME", train.auto_resume, NEUTRAL, .def = "True",
        .flag = "--auto-resume",
        .help = "resume from the newest checkpoint in the output folder"),
    ROW("TRAIN.EVAL_FREQ", train.eval_freq, NEUTRAL, .def = "1", RANGE(1, EPOCHS),
        .flag = "--eval-freq, --val-interval", .metavar = "N",
        .help = "epochs between validations"),
    ROW("TRAIN.VALIDATE", train.validate, NEUTRAL, .def = "inline",
        .choices = choices_validates,
        .help = "inline: training waits for validation; background (formerly beside): a "
                "separate process validates while training continues"),
    ROW("TRAIN.VALIDATE_DEVICE", train.validate_device, NEUTRAL, .def = "cpu",
        .help = "device of TRAIN.VALIDATE background, with the values of DEVICE"),
    ROW("TRAIN.SAVE_STEPS", train.save_steps, NEUTRAL, .def = "0", RANGE(0, NO_LIMIT),
        .flag = "--save-steps", .metavar = "N",
        .help = "also save a checkpoint every N steps; 0: only after epochs"),
    ROW("TRAIN.KEEP_CHECKPOINTS", train.keep_checkpoints, NEUTRAL, .def = "3",
        RANGE(1, 1000000), .flag = "--keep-checkpoints, --checkpoint-hist",
        .metavar = "N", .help = "numbered checkpoints to keep"),
    ROW("TRAIN.SIGNAL_EXIT_CODE", train.signal_exit_code, NEUTRAL, .def = "0",
        RANGE(0, 255), .help = "exit code after a signal; 0: 128 + signal"),
    ROW("TRAIN.LR_SCHEDULER.NAME", train.lr_scheduler.name, .def = "cosine",
        .flag = "--sched", .metavar = "NAME",
        .help = "learning rate schedule; each reads some of the keys below"),
    ROW("TRAIN.LR_SCHEDULER.WARMUP_PREFIX", train.lr_scheduler.warmup_prefix,
        .def = "True", .flag = "--warmup-prefix",
        .help = "cosine, poly: start the schedule after the warm-up instead of with it"),
    ROW("TRAIN.LR_SCHEDULER.DECAY_EPOCHS", train.lr_scheduler.decay_epochs, .def = "30",
        RANGE(1, EPOCHS), .flag = "--decay-epochs", .metavar = "N",
        .help = "step: epochs between decays, counted from the start of the run "
                "including warm-up, as in Swin (timm 0.4.12); newer timm counts from the "
                "end of the warm-up"),
    ROW("TRAIN.LR_SCHEDULER.DECAY_RATE", train.lr_scheduler.decay_rate, .def = "0.1",
        RANGE(0, 1), .flag = "--decay-rate, --dr",
        .help = "step, plateau: factor of each decay"),
    ROW("TRAIN.LR_SCHEDULER.PATIENCE_EPOCHS", train.lr_scheduler.patience_epochs,
        .def = "10", RANGE(0, EPOCHS), .flag = "--patience-epochs", .metavar = "N",
        .help = "plateau: epochs without a better score to tolerate; the next one lowers "
                "the learning rate"),
    ROW("TRAIN.LR_SCHEDULER.GAMMA", train.lr_scheduler.gamma, .def = "0.1", RANGE(0, 1),
        .help = "multistep: factor at each milestone"),
    ROW("TRAIN.LR_SCHEDULER.MULTISTEPS", train.lr_scheduler.multisteps, .def = "[]",
        RANGE(0, EPOCHS), .flag = "--milestones, --decay-milestones",
        .help = "multistep: milestone epochs, counted from the start of the run "
                "including warm-up, as in Swin and torch; timm counts from the end of "
                "the warm-up unless its warmup_prefix is False"),
    ROW("TRAIN.LR_SCHEDULER.POWER", train.lr_scheduler.power, .def = "0.9", ABOVE(0, 100),
        .help = "poly: exponent"),
    ROW("TRAIN.LR_SCHEDULER.PCT_START", train.lr_scheduler.pct_start, .def = "0.3",
        RANGE(0, 1), .help = "onecycle: share of the run with a rising learning rate"),
    ROW("TRAIN.LR_SCHEDULER.DIV_FACTOR", train.lr_scheduler.div_factor, .def = "25.0",
        RANGE(1, 1e12), .help = "onecycle: BASE_LR divided by the first learning rate"),
    ROW("TRAIN.LR_SCHEDULER.FINAL_DIV_FACTOR", train.lr_scheduler.final_div_factor,
        .def = "10000.0", RANGE(1, 1e12),
        .help = "onecycle: first learning rate divided by the last"),
    ROW("TRAIN.LOSS.NAME", train.loss.name, .def = "cross_entropy", .flag = "--loss",
        .metavar = "NAME", .set_flag = "--bce-loss", .set_value = "bce",
        .help = "training loss (MODEL.TASK regression: l2 unless set; ordinal: corn; "
                "simmim: simmim); "
                "evaluation always uses cross entropy, or l2 for a regression"),
    ROW("TRAIN.LOSS.TARGET_THRESH", train.loss.target_thresh, .def = "None",
        .nullable = true, RANGE(0, 1), .flag = "--bce-target-thresh",
        .help =
            "smoothed and mixed targets above this become 1, others 0; None: unchanged"),
    ROW("TRAIN.LOSS.SUM_CLASSES", train.loss.sum_classes, .def = "False",
        .flag = "--bce-sum", .help = "sum over the classes instead of averaging"),
    ROW("TRAIN.LOSS.LOGIT_ADJUST", train.loss.logit_adjust, .def = "0.0", RANGE(0, 10),
        .flag = "--logit-adjust", .metavar = "TAU",
        .help = "training adds TAU log(share of the class) to the logits, so that rare "
                "classes are not guessed too seldom (Menon et al. 2021: 1); 0: off"),
    ROW("TRAIN.LOSS.GAMMA_POS", train.loss.gamma_pos, .def = "0.0", RANGE(0, 100),
        .help = "asymmetric: focusing exponent of labels that an image has"),
    ROW("TRAIN.LOSS.GAMMA_NEG", train.loss.gamma_neg, .def = "4.0", RANGE(0, 100),
        .help = "asymmetric: focusing exponent of labels that an image lacks"),
    ROW("TRAIN.LOSS.CLIP", train.loss.clip, .def = "0.05", RANGE(0, 0.9),
        .help = "asymmetric: lacking labels below this probability cost nothing"),
    ROW("TRAIN.LOSS.DELTA", train.loss.delta, .def = "1.0", ABOVE(0, 1e6),
        .flag = "--huber-delta", .metavar = "D",
        .help = "huber, smooth_l1: error from which the loss is linear, in standard "
                "deviations of the target"),
    ROW("TRAIN.LOSS.POS_WEIGHT", train.loss.pos_weight, .def = "none",
        .choices = choices_pos_weight, RANGE(0, 1e6), .flag = "--pos-weight",
        .metavar = "W",
        .help =
            "MODEL.TASK multilabel: factors of the loss of labels that an image has: "
            "one for all classes, or one per class; auto: training images without the "
            "label / images with it"),
    ROW("TRAIN.OPTIMIZER.NAME", train.optimizer.name, .def = "adamw",
        .flag = "--optim, --opt", .metavar = "NAME",
        .help = "the optimizer; each reads some of the keys below"),
    ROW("TRAIN.OPTIMIZER.EPS", train.optimizer.eps, .def = "1e-08", RANGE(0, 1),
        .flag = "--opt-eps", .help = "added to denominators"),
    ROW("TRAIN.OPTIMIZER.BETAS", train.optimizer.betas, .def = "[0.9, 0.999]",
        RANGE(0, 1), .len = 2, .flag = "--opt-betas",
        .help = "decay rates of the first and second moments"),
    ROW("TRAIN.OPTIMIZER.MOMENTUM", train.optimizer.momentum, .def = "0.9", RANGE(0, 1),
        .flag = "--momentum", .help = "momentum"),
    ROW("TRAIN.OPTIMIZER.NESTEROV", train.optimizer.nesterov, .def = "True",
        .flag = "--nesterov", .help = "Nesterov's momentum"),
    ROW("TRAIN.OPTIMIZER.ALPHA", train.optimizer.alpha, .def = "0.99", RANGE(0, 1),
        .help = "decay rate of the mean square"),
    ROW("TRAIN.OPTIMIZER.TRUST_COEFF", train.optimizer.trust_coeff, .def = "0.001",
        ABOVE(0, 1000),
        .help = "trust ratio: size of a tensor's step relative to the tensor"),
    ROW("TRAIN.OPTIMIZER.TRUST_CLIP", train.optimizer.trust_clip, .def = "False",
        .help = "trust ratio: only shorten steps, never lengthen them (LAMBC, LARC)"),
    ROW("TRAIN.OPTIMIZER.ALWAYS_ADAPT", train.optimizer.always_adapt, .def = "False",
        .help = "trust ratio: also apply it to tensors without weight decay"),
    ROW("TRAIN.OPTIMIZER.GROUPS", train.optimizer.groups, RECORDS(config_group, group),
        .help = "parameter groups with their own optimizer or hyperparameters: [{match: "
                "'head.*', name: sgd, lr_scale: 10, weight_decay: 0}, ...]; the first "
                "match applies"),
    ROW("TRAIN.EMA.ENABLE", train.ema.enable, .def = "False", .flag = "--model-ema",
        .help = "keep an exponential moving average (EMA) of the weights"),
    ROW("TRAIN.EMA.DECAY", train.ema.decay, .def = "0.9998", RANGE(0, 1),
        .flag = "--model-ema-decay", .help = "decay of the EMA"),
    ROW("TRAIN.EMA.RAMP_STEPS", train.ema.ramp_steps, .def = "2000.0", RANGE(0, 1e12),
        .help = "ramp up the decay: DECAY * (1 - exp(-step / RAMP_STEPS)); 0: constant "
                "DECAY"),
    ROW("TRAIN.EMA.DEVICE", train.ema.device, NEUTRAL, .def = "device",
        .choices = choices_ema_devices, .help = "where to keep the EMA"),
    ROW("TRAIN.SWA.ENABLE", train.swa.enable, .def = "False", .flag = "--swa",
        .help =
            "stochastic weight averaging: average the weights at the end of each of the "
            "last epochs, in place of an EMA"),
    ROW("TRAIN.SWA.START", train.swa.start, .def = "0", RANGE(0, EPOCHS),
        .flag = "--swa-start", .metavar = "N",
        .help =
            "epochs before the first one whose weights are averaged; 0: three quarters "
            "of TRAIN.EPOCHS"),
    ROW("TRAIN.SWA.LR", train.swa.lr, .def = "None", .nullable = true, RANGE(0, 1e6),
        .flag = "--swa-lr", .metavar = "LR",
        .help = "learning rate while weights are averaged, see TRAIN.SCALE_LR; None: the "
                "rate that the schedule has reached"),
    ROW("TRAIN.SWA.ANNEAL", train.swa.anneal, .def = "cos",
        .choices = choices_swa_anneals, .help = "how the rate moves to SWA.LR"),
    ROW("TRAIN.SWA.ANNEAL_EPOCHS", train.swa.anneal_epochs, .def = "1", RANGE(0, EPOCHS),
        .help = "epochs in which the rate moves to SWA.LR; 0: at once"),
    ROW("TRAIN.SWA.BN_BATCHES", train.swa.bn_batches, .def = "0", RANGE(0, NO_LIMIT),
        .help = "training batches from which batch norm statistics of the average are "
                "estimated after each epoch; 0: all of an epoch"),
    ROW("TRAIN.MOE.SAVE_MASTER", train.moe.save_master, .def = "False",
        .no_effect = "a checkpoint is one file",
        .help = "save only the master's experts"),

    /* augmentation */
    ROW("AUG.CROP_MODE", aug.crop_mode, .def = "auto", .choices = choices_crop_modes,
        .flag = "--train-crop-mode",
        .help = "training crop; auto: pad if AUG.PAD_CROP > 0, else rrc"),
    ROW("AUG.SCALE", aug.scale, .def = "[0.08, 1.0]", ABOVE(0, 1), .len = 2,
        .flag = "--scale", .help = "rrc: range of the crop's area relative to the image"),
    ROW("AUG.RATIO", aug.ratio, .def = "[0.75, 1.3333333333333333]", ABOVE(0, 1000),
        .len = 2, .flag = "--ratio",
        .help = "rrc: range of the aspect ratio (width / height)"),
    ROW("AUG.PAD_CROP", aug.pad_crop, .def = "0", RANGE(0, 65536), .flag = "--pad-crop",
        .metavar = "N", .help = "pad: pixels on each side before the random crop"),
    ROW("AUG.PAD_MODE", aug.pad_mode, .def = "constant", .choices = choices_pad_modes,
        .flag = "--pad-mode", .help = "pad: how to fill these pixels; constant: black"),
    ROW("AUG.SHIFT", aug.shift, .def = "0", RANGE(0, 65536), .flag = "--shift",
        .metavar = "N",
        .help = "segmentation: shift by up to N pixels in both directions"),
    ROW("AUG.RESIZE_SCALE", aug.resize_scale, .def = "[1.0, 1.0]", ABOVE(0, 100),
        .len = 2, .flag = "--resize-scale",
        .help = "segmentation: range of a random scale relative to the input size; the "
                "image is then cropped or padded"),
    ROW("AUG.HFLIP", aug.hflip, .def = "0.5", RANGE(0, 1), .flag = "--hflip",
        .help = "probability of a horizontal flip"),
    ROW("AUG.HFLIP_MODE", aug.hflip_mode, .def = "random", .choices = choices_hflip_modes,
        .flag = "--hflip-mode",
        .help = "alternate: flip each image in every second epoch"),
    ROW("AUG.VFLIP", aug.vflip, .def = "0.0", RANGE(0, 1), .flag = "--vflip",
        .help = "probability of a vertical flip"),
    ROW("AUG.INTERPOLATION", aug.interpolation, .def = "same",
        .choices = choices_aug_interpolations, .flag = "--train-interpolation",
        .help = "how to resize training images; same: as DATA.INTERPOLATION; random: "
                "bilinear or bicubic, drawn per image (timm)"),
    ROW("AUG.COLOR_JITTER", aug.color_jitter, .def = "0.4", RANGE(-1, 100),
        .flag = "--color-jitter", .help = "strength of the color jitter; 0: none"),
    ROW("AUG.AUTO_AUGMENT", aug.auto_augment, .def = "rand-m9-mstd0.5-inc1",
        .none = "none", .flag = "--aa", .metavar = "POLICY",
        .help =
            "augmentation policy: rand-m9-mstd0.5-inc1, original, originalr, v0, v0r, "
            "ta_wide; none: none"),
    ROW("AUG.REPROB", aug.reprob, .def = "0.25", RANGE(0, 1), .flag = "--reprob",
        .help = "random erasing: probability"),
    ROW("AUG.REMODE", aug.remode, .def = "pixel", .choices = choices_remodes,
        .flag = "--remode", .help = "random erasing: what fills the box"),
    ROW("AUG.RECOUNT", aug.recount, .def = "1", RANGE(1, 1000), .flag = "--recount",
        .metavar = "N", .help = "random erasing: largest number of boxes"),
    ROW("AUG.ON_DEVICE", aug.on_device, NEUTRAL, .def = "False",
        .flag = "--aug-on-device",
        .help = "run flip (also of label maps), color jitter, and random erasing on the "
                "training device instead of in the loader; the pixels are the same"),
    ROW("AUG.LIST", aug.list, RECORDS(config_augment, augment),
        .help = "operations after the crop, in this order, in place of flips, "
                "AUG.AUTO_AUGMENT, "
                "AUG.COLOR_JITTER, and AUG.REPROB: [{name: rotate, degrees: 15, p: 0.5}, "
                "{name: blur, sigma: [0.1, 2]}]; see docs/augmentation.md"),
    ROW("AUG.MOSAIC", aug.mosaic, .def = "0.0", RANGE(0, 1), .flag = "--mosaic",
        .help = "segmentation: probability that an image is made of four"),
    ROW("AUG.REPEATS", aug.repeats, .def = "1", RANGE(0, 100), .flag = "--aug-repeats",
        .metavar = "N",
        .help = "repeated augmentation: repeat each image N times per epoch, with 1/N of "
                "the images per epoch; 0, 1: off"),
    ROW("AUG.MIXUP", aug.mixup, .def = "0.8", RANGE(0, 1000), .flag = "--mixup",
        .help = "mixup: alpha; 0: off"),
    ROW("AUG.CUTMIX", aug.cutmix, .def = "1.0", RANGE(0, 1000), .flag = "--cutmix",
        .help = "cutmix: alpha; 0: off unless CUTMIX_MINMAX is set"),
    ROW("AUG.CUTMIX_MINMAX", aug.cutmix_minmax, .def = "None", .nullable = true,
        RANGE(0, 1), .len = 2, .flag = "--cutmix-minmax",
        .help = "cutmix: smallest and largest side of the box relative to the image"),
    ROW("AUG.MIXUP_PROB", aug.mixup_prob, .def = "1.0", RANGE(0, 1),
        .flag = "--mixup-prob", .help = "probability of mixup or cutmix"),
    ROW("AUG.MIXUP_SWITCH_PROB", aug.mixup_switch_prob, .def = "0.5", RANGE(0, 1),
        .flag = "--mixup-switch-prob", .help = "probability of cutmix when both are on"),
    ROW("AUG.MIXUP_MODE", aug.mixup_mode, .def = "batch", .choices = choices_mixup_modes,
        .flag = "--mixup-mode", .help = "draw once per batch, pair, or element"),
    ROW("AUG.MIXUP_OFF_EPOCH", aug.mixup_off_epoch, .def = "0", RANGE(0, EPOCHS),
        .flag = "--mixup-off-epoch", .metavar = "N",
        .help = "turn mixup and cutmix off from this epoch on; 0: never"),

    /* validation */
    ROW("TEST.CROP", test.crop, .def = "True",
        .help = "resize and crop the center; False: resize to the input size"),
    ROW("TEST.SHRINK", test.shrink, .def = "False", .flag = "--test-shrink",
        .help = "decode large JPEGs at a smaller scale, as in training: faster, but a "
                "few predictions change; False: decode at full size, like Pillow"),
    ROW("TEST.TTA", test.tta, NEUTRAL, .def = "", .flag = "--tta", .metavar = "VIEWS",
        .help = "test-time augmentation: views of each image whose probabilities eval "
                "and predict average: hflip, vflip, and, for classifiers, five_crop and "
                "ten_crop; several with commas between them"),
    ROW("TEST.SCALES", test.scales, NEUTRAL, .def = "[]", RANGE(0, 16),
        .flag = "--test-scales",
        .help = "segmentation: eval and predict cover whole images with overlapping "
                "windows, at these scales relative to the size that fits the input (0: "
                "the image's own size), and average their probabilities; []: the image "
                "is resized to the input"),
    ROW("TEST.WINDOW_OVERLAP", test.window_overlap, NEUTRAL, .def = "0.5", RANGE(0, 0.9),
        .help =
            "TEST.SCALES: share of a window that the next one covers again, at least"),
    ROW("TEST.WINDOW_WEIGHTS", test.window_weights, NEUTRAL, .def = "gaussian",
        .choices = choices_window_weights,
        .help = "TEST.SCALES: weights of a window's pixels: gaussian, highest in its "
                "center, or uniform"),
    ROW("TEST.BOUNDARY_IOU", test.boundary_iou, NEUTRAL, .def = "False",
        .help = "segmentation: compute the Boundary IoU in the validations of training, "
                "too, as TRAIN.BEST_METRIC boundary_iou does; eval always computes it"),
    ROW("TEST.BOUNDARY_WIDTH", test.boundary_width, NEUTRAL, .def = "0.02", ABOVE(0, 1),
        .help = "Boundary IoU: width of the borders as a share of the diagonal of the "
                "label map"),
    ROW("TEST.SEQUENTIAL", test.sequential, .def = "False", .no_effect = validation,
        .help = "Swin's order of validation"),
    ROW("TEST.SHUFFLE", test.shuffle, .def = "False", .no_effect = validation,
        .help = "Swin's shuffled validation"),

    /* log */
    ROW("LOG.LEVEL", log.level, NEUTRAL, .def = "info", .choices = choices_log_levels,
        .flag = "--log-level", .help = "lowest level of log lines to show"),
    ROW("LOG.TENSORBOARD", log.tensorboard, NEUTRAL, .def = "True",
        .flag = "--tensorboard", .help = "write TensorBoard events"),
    ROW("LOG.IMAGES", log.images, NEUTRAL, .def = "4", RANGE(0, 1000),
        .flag = "--log-images", .metavar = "N",
        .help = "segmentation: number of validation images to draw with truth and "
                "prediction"),
    ROW("LOG.REPORT", log.report, NEUTRAL, .def = "True", .flag = "--html-report",
        .help = "write report.html and its data to the run's folder"),
    ROW("LOG.PROGRESS", log.progress, NEUTRAL, .def = "auto",
        .choices = choices_progresses, .flag = "--progress",
        .help = "progress bar; auto: if stderr is a terminal"),
    {0},
};
