/*
 * trainc quantize: writes the weights of a model in int8, with activation ranges from
 * calibration images.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/infer.h"
#include "cmd/run.h"
#include "config/print.h"
#include "config/schema.h"
#include "io/json.h"
#include "ops/quantize_formula.h"
#include "session/devices.h"
#include "session/model_config.h"
#include "session/optimizer_config.h"
#include "session/schedules.h"
#include "train/calibrate.h"
#include "train/data_config.h"
#include "train/pretrained.h"
#include "train/quantize.h"

enum { IMAGES = 512 }; /* default number of calibration images */

struct quantizing {
    struct infer infer;
    struct images images;
    struct quantized_layer *layer;
    int nlayer;
    struct calibration *inputs; /* input statistics, for the first reader of each input */
    int64_t seen;               /* images read in this pass */
    double *scale;              /* of the input of each layer */
    float *x;                   /* buffer for the largest input */
};

/* Keeps `want` evenly spaced images, so that each class is represented. */
static void subsample(struct images *im, int want)
{
    int n = 0;

    for (int i = 0; i < im->n; i++) {
        bool keep =
            im->n <= want || (int64_t)i * want / im->n != (int64_t)(i + 1) * want / im->n;

        if (!keep) {
            free(im->path[i]);
            continue;
        }
        im->path[n] = im->path[i];
        im->name[n++] = im->name[i];
    }
    im->n = n;
}

static bool first_reader(const struct quantizing *q, int i)
{
    return q->layer[i].scale_of == q->layer[i].node->layer;
}

/* Runs the model on all images and calls `look` for each layer's input and image. */
static void run_calibration(struct quantizing *q,
                            void (*add_values)(struct calibration *c, const float *x,
                                               int64_t n))
{
    const struct batch *b;

    q->seen = 0;
    while ((b = infer_next(&q->infer))) {
        for (int k = 0; k < b->size; k++)
            q->seen += infer_is_there(b, k);
        for (int i = 0; i < q->nlayer; i++) {
            const struct tensor *t = q->layer[i].input;
            int64_t each = tensor_len(t) / t->dim[0];

            if (!first_reader(q, i))
                continue;
            session_tensor(&q->infer.session, t, q->x);
            for (int k = 0; k < b->size; k++)
                if (infer_is_there(b, k))
                    add_values(&q->inputs[i], q->x + k * each, each);
        }
    }
    if (!q->seen)
        die("--calib: all %d images are unreadable", q->images.n);
}

static void find_layers(struct quantizing *q, const struct config *cfg)
{
    const struct session *s = &q->infer.session;
    const char *unmatched =
        quantized_keep_unmatched(s->build[SESSION_EVAL].graph, &s->plan.quantized);
    int64_t largest = 0;

    if (unmatched)
        config_refuse(cfg, KEYS("QUANT.KEEP"),
                      "QUANT.KEEP: no convolution or linear layer of %s matches '%s' "
                      "('trainc summary' lists them)",
                      cfg->model.name, unmatched);
    q->nlayer =
        quantized_layers(s->build[SESSION_EVAL].graph, s->build[SESSION_EVAL].logits,
                         &s->plan.quantized, &q->layer);
    if (!q->nlayer)
        die("QUANT.KEEP leaves no layer to quantize");
    for (int i = 0; i < q->nlayer; i++)
        if (tensor_len(q->layer[i].input) > largest)
            largest = tensor_len(q->layer[i].input);
    q->inputs = xcalloc((size_t)q->nlayer, sizeof(*q->inputs));
    q->scale = xcalloc((size_t)q->nlayer, sizeof(*q->scale));
    q->x = xmalloc((size_t)largest * sizeof(*q->x));
}

static void find_scales(struct quantizing *q, const struct config *cfg)
{
    const struct calibrator *how = calibrator_find(cfg->quant.method);

    for (int i = 0; i < q->nlayer; i++) {
        const struct quantized_layer *l = &q->layer[i];
        int levels = l->is_unsigned ? QUANTIZE_MAX_U8 : QUANTIZE_MAX_I8;
        double range;

        if (!first_reader(q, i))
            continue;
        if (q->inputs[i].bad)
            die("layer '%s': its input has %" PRId64 " values that are NaN or infinite",
                l->node->layer, q->inputs[i].bad);
        range = how->range(&q->inputs[i], levels, cfg->quant.percentile);
        for (int k = i; k < q->nlayer; k++)
            if (q->layer[k].scale_of == l->scale_of)
                q->scale[k] = range > 0 ? range / levels : 1;
        log_debug("layer '%s': %s up to %g of %g", l->node->layer,
                  l->is_unsigned ? "uint8" : "int8", range, q->inputs[i].max_abs);
    }
}

/* Resets keys that have no effect in int8; otherwise each user of the file would get
 * warnings about them. */
static void reset_float_keys(struct config *cfg)
{
    for (const struct schema *row = schema_table; row->key; row++)
        if (!strncmp(row->key, "AMP.", 4) || !strncmp(row->key, "TRAIN.EMA.", 10))
            config_set(cfg, row->key, row->def ? row->def : "");
    config_set(cfg, "TRAIN.EMA.ENABLE", "False");
    config_set(cfg, "TRAIN.SWA.ENABLE", "False");
}

static void write_quantized(struct quantizing *q, struct config *cfg, const char *out,
                            const json_t *classes)
{
    char *names = classes ? json_dumps(classes, JSON_COMPACT) : NULL;
    struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
    struct session s;

    reset_float_keys(cfg);
    config_set(cfg, "MODEL.PRETRAINED", "");
    config_set(cfg, "QUANT.ENABLE", "True");
    config_print(&text, cfg, 0);
    session_init(&s, cfg, &(struct session_options){.eval = true});
    session_alloc(&s);
    quantize_weights(&s, &q->infer.session, q->layer, q->nlayer, q->scale);
    if (quantize_write(&s, out, text.buf, names, &why))
        die("--out: %s", why.buf);
    log_info("wrote '%s': %d layers in int8, calibrated by %s on %" PRId64 " images", out,
             q->nlayer, cfg->quant.method, q->seen);
    session_release(&s);
    strbuf_release(&text);
    free(names);
}

static int quantize_run(struct config *cfg, const struct cmdline *line)
{
    char *weights = run_own_weights(cfg, line);
    const char *count = cmdline_value(line, "-n");
    struct quantizing q = {.infer.observe = true};
    json_t *classes = run_classes(cfg, line, weights);
    int64_t bad;

    config_set(cfg, "AMP_ENABLE", "False");
    config_set(cfg, "AMP_OPT_LEVEL", "O0");
    config_set(cfg, "QUANT.ENABLE", "False");
    images_add(&q.images, cmdline_value(line, "--calib"));
    subsample(&q.images, count ? (int)strtol(count, NULL, 10) : IMAGES);
    infer_open(&q.infer, cfg, &q.images);
    pretrained_load_all(&q.infer.session, weights, "the configuration",
                        &(struct class_list){0});
    find_layers(&q, cfg);
    run_calibration(&q, calibration_add_largest);
    run_calibration(&q, calibration_count);
    find_scales(&q, cfg);
    write_quantized(&q, cfg, cmdline_value(line, "--out"), classes);
    bad = infer_close(&q.infer);
    if (bad)
        log_warning("skipped %" PRId64 " unreadable images", bad);
    json_decref(classes);
    images_release(&q.images);
    free(weights);
    free(q.layer);
    free(q.inputs);
    free(q.scale);
    free(q.x);
    return EXIT_OK;
}

static const char *quantize_source(const struct cmdline *line)
{
    return cmdline_value(line, "--weights");
}

static void check_count(const struct cmdline *line, struct problems *p)
{
    const char *count = cmdline_value(line, "-n");
    char *end = NULL;
    long n = count ? strtol(count, &end, 10) : IMAGES;

    if (n < 1 || n > 1 << 24 || (end && (*end || end == count)))
        problems_error(p, "-n", "must be a number of images of at least 1, not '%s'",
                       count);
}

static void quantize_check(const struct config *cfg, const struct cmdline *line,
                           struct problems *p)
{
    const char *weights = cmdline_value(line, "--weights");
    const char *calib = cmdline_value(line, "--calib");
    const char *out = cmdline_value(line, "--out");
    struct strbuf why = STRBUF_INIT;

    model_check(cfg, p);
    model_check_answers(cfg, p);
    optimizer_config_check(cfg, p);
    schedule_check(cfg, p);
    device_check_one(cfg, p);
    if (!names_known(&calibrator_names, cfg->quant.method, &why))
        config_blame(cfg, p, KEYS("QUANT.METHOD"), "QUANT.METHOD %s", why.buf);
    run_check_own_weights(cfg, line, p);
    if (!calib)
        problems_error(p, NULL, "no calibration images: give --calib DIR");
    else if (!file_exists(calib))
        problems_error(p, "--calib", "'%s' does not exist", calib);
    if (!out)
        problems_error(p, NULL, "no output file: give --out FILE.safetensors");
    else if (weights && file_same(weights, out))
        problems_error(p, "--out",
                       "'%s' is the file of the float weights; choose another file", out);
    else if (run_is_pickle_name(out))
        problems_error(p, "--out",
                       "'%s': the output is a safetensors file; end its name in "
                       ".safetensors",
                       out);
    else
        run_check_writable(line, "--out", WRITTEN_WEIGHTS, p);
    check_count(line, p);
    strbuf_release(&why);
}

static const struct cmd_flag quantize_flags[] = {
    {"--weights", "FILE",
     "float checkpoint (its EMA weights, unless the raw ones scored higher) or state "
     "dict"},
    {"--calib", "DIR", "folder of calibration images, similar to those in production"},
    {"-n", "N", "number of calibration images, evenly spaced (512)"},
    {"--out", "FILE", "safetensors file to write"},
    {0},
};

const struct verb cmd_quantize = {
    .name = "quantize",
    .evaluates = true,
    .examples = (const char *const[]){"trainc quantize --weights best.safetensors "
                                      "--calib photos/train --out int8.safetensors",
                                      "trainc quantize --weights best.safetensors "
                                      "--calib photos/train -n 1000 --out "
                                      "int8.safetensors QUANT.METHOD=entropy",
                                      NULL},
    .help = "quantize a model to int8",
    .about =
        "Post-training quantization: convolutions and linear layers compute in int8, "
        "with "
        "symmetric per-channel scales for weights and per-tensor scales for inputs. "
        "QUANT.METHOD (minmax, percentile, or entropy) finds the input ranges on the "
        "images of --calib. Batch norms are folded into the preceding convolutions. The "
        "first layer and the classifier stay in floating point unless QUANT.FIRST and "
        "QUANT.LAST are True, and so do the layers that match QUANT.KEEP. The file holds "
        "its configuration, so trainc eval --pretrained FILE and trainc predict "
        "--weights "
        "FILE need no --cfg. Binary and ternary networks are not supported.",
    .flags = quantize_flags,
    .weights = quantize_source,
    .check = quantize_check,
    .run = quantize_run,
};
