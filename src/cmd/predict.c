/*
 * trainc predict: runs a model on images. Prints the most likely classes of a classifier;
 * writes the label map of a segmentation in the image's size, and an overlay.
 */
#include "cmd/predict.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "io/safetensors.h"
#include "session/devices.h"
#include "session/model_config.h"
#include "session/optimizer_config.h"
#include "session/schedules.h"
#include "train/data_config.h"
#include "train/multilabel.h"
#include "train/pretrained.h"
#include "train/segment_config.h"
#include "train/windows.h"

/* Sets the class names from the configuration or its class set, or else to class7 etc. */
static void config_names(struct predict *p)
{
    struct strbuf text = STRBUF_INIT;

    p->name = xcalloc((size_t)p->classes, sizeof(*p->name));
    for (int c = 0; c < p->classes; c++) {
        strbuf_reset(&text);
        if (p->cfg->data.class_names.n)
            strbuf_addstr(&text, p->cfg->data.class_names.item[c]);
        else
            class_set_add_name(p->set, c, &text);
        p->name[c] = xstrdup(text.buf);
    }
    strbuf_release(&text);
}

/* Loads the weights. list: the class names saved with them, which override the
 * configuration, or NULL. */
static void predict_load(struct predict *p, const char *weights, const json_t *list)
{
    bool named = p->set || p->cfg->data.class_names.n;

    config_names(p);
    if (json_array_size(list) && (int)json_array_size(list) != p->classes)
        die("--weights: '%s' lists %zu classes, but MODEL.NUM_CLASSES is %d", weights,
            json_array_size(list), p->classes);
    pretrained_load_all(
        &p->infer.session, weights, "the configuration",
        &(struct class_list){(const char *const *)p->name, named ? p->classes : 0});
    for (int c = 0; c < p->classes; c++) {
        const char *name = json_string_value(json_array_get(list, (size_t)c));

        if (!name)
            continue;
        free(p->name[c]);
        p->name[c] = xstrdup(name);
    }
}

static bool segments(const struct config *cfg)
{
    return model_of_config(cfg)->family->task == MODEL_SEGMENT;
}

static bool multilabel(const struct config *cfg)
{
    return cfg->model.task == TASK_MULTILABEL && !segments(cfg);
}

static bool regression(const struct config *cfg)
{
    return cfg->model.task == TASK_REGRESSION && !segments(cfg);
}

/* Returns the thresholds of a checkpoint, or 0.5 for each class. */
static double *thresholds_of(const char *weights, int classes)
{
    struct strbuf why = STRBUF_INIT;
    struct safetensors file;
    double *t = NULL;

    if (!safetensors_open(&file, weights, &why)) {
        t = multilabel_thresholds_parse(safetensors_meta(&file, "thresholds"), classes);
        safetensors_close(&file);
    }
    strbuf_release(&why);
    if (t)
        return t;
    log_warning("'%s' has no thresholds: labels are those with a probability of 0.5 or "
                "more",
                weights);
    t = xcalloc((size_t)classes, sizeof(*t));
    for (int c = 0; c < classes; c++)
        t[c] = 0.5;
    return t;
}

/* The thresholds of an ensemble are the means of its members'. */
static void average_thresholds(struct predict *p)
{
    int n = p->ensemble.n + 1;

    for (int k = 0; k < p->ensemble.n; k++) {
        double *t = thresholds_of(p->ensemble.member[k].path, p->classes);

        for (int c = 0; c < p->classes; c++)
            p->threshold[c] += t[c];
        free(t);
    }
    for (int c = 0; c < p->classes; c++)
        p->threshold[c] /= n;
}

static void predict_open(struct predict *p, struct config *cfg,
                         const struct cmdline *line, const char *weights)
{
    json_t *list = run_classes(cfg, line, weights);

    p->cfg = cfg;
    p->classes = (int)cfg->model.num_classes;
    if (multilabel(cfg))
        p->threshold = thresholds_of(weights, p->classes);
    p->values = regression(cfg);
    p->set = segment_class_set(cfg);
    p->infer.tta = !segments(cfg);
    infer_open(&p->infer, cfg, &p->images);
    predict_load(p, weights, list);
    cam_begin(p, line);
    ensemble_open(&p->ensemble, line, &p->infer, p->classes, list, &p->images);
    if (p->threshold)
        average_thresholds(p);
    for (int c = 0; p->threshold && p->least > 0 && c < p->classes; c++)
        p->threshold[c] = p->least;
    if (cmdline_value(line, "--top-images"))
        p->ranking =
            ranking_new(p->classes, predict_topk(cmdline_value(line, "--top-images")));
    json_decref(list);
}

static void predict_close(struct predict *p)
{
    for (int c = 0; c < p->classes; c++)
        free(p->name[c]);
    free(p->name);
    free(p->threshold);
    images_release(&p->images);
}

/* Segments whole images in windows. Returns the number of images that could not be read. */
static int64_t predict_windows(struct predict *p)
{
    struct windows *w = windows_open(p->cfg, &p->infer.session, &p->infer.limits);
    struct dataset_bytes bytes = {0};
    struct strbuf why = STRBUF_INIT;
    struct window_answer a;
    int64_t bad = 0;

    answers_begin(p);
    for (int64_t i = 0; i < p->images.n; i++) {
        strbuf_reset(&why);
        if (dataset_read(p->infer.files, i, p->infer.limits.max_bytes, &bytes, &why) ==
                0 &&
            windows_predict(w, bytes.data, bytes.len, NULL, &a, &why) == 0) {
            segment_write(p, i, &a);
            continue;
        }
        if (p->cfg->data.on_error == ON_ERROR_FAIL)
            die("'%s': %s", p->images.path[i], why.buf);
        log_warning("'%s': %s", p->images.path[i], why.buf);
        bad++;
    }
    answers_end(p);
    windows_close(w);
    dataset_bytes_release(&bytes);
    strbuf_release(&why);
    return bad;
}

static void predict_all(struct predict *p)
{
    const struct tensor *z = p->infer.session.build[SESSION_EVAL].logits;
    int64_t each = tensor_len(z) / z->dim[0]; /* logits of an image */
    float *logits = xcalloc((size_t)tensor_len(z), sizeof(*logits));
    const struct batch *b;

    answers_begin(p);
    while ((b = infer_next(&p->infer))) {
        infer_logits(&p->infer, logits);
        ensemble_mean(&p->ensemble, &p->infer, b, logits);
        cam_batch(p, b, logits);
        for (int i = 0; i < b->size; i++) {
            if (!infer_is_there(b, i))
                continue;
            if (segments(p->cfg))
                segment_image(p, b->sample[i], logits + i * each);
            else
                answers_add(p, b->sample[i], logits + i * each);
        }
    }
    answers_end(p);
    free(logits);
}

static int predict_run(struct config *cfg, const struct cmdline *line)
{
    const char *out = cmdline_value(line, "--out");
    struct predict p = {
        .out = out ? out : "predictions",
        .server_ids = cmdline_has(line, "--server-ids"),
        .top = predict_topk(cmdline_value(line, "--topk")),
        .least = predict_threshold(cmdline_value(line, "--threshold")),
        .probabilities = cmdline_has(line, "--probabilities"),
        .sorted = cmdline_value(line, "--sort"),
        .copy = cmdline_has(line, "--copy"),
        .csv = cmdline_value(line, "--csv"),
        .json = cmdline_value(line, "--json"),
        .submission = cmdline_value(line, "--submission"),
        .sample = cmdline_value(line, "--sample"),
    };
    struct cmdline others = ensemble_others(line);
    char *weights;
    int64_t bad;
    int n;

    run_reserve_stdout(line);
    p.images.out = segments(cfg) ? p.out : p.sorted;
    images_of_args(&p.images, &others);
    free(others.arg);
    n = p.images.n;
    if (segments(cfg)) {
        segment_check_outputs(&p);
        if (dir_make_all(p.out))
            die("cannot create the folder '%s': %s", p.out, strerror(errno));
    } else {
        answers_check_outputs(&p);
    }
    cam_of_flags(&p, cfg, line);
    weights = run_own_weights(cfg, line);
    predict_open(&p, cfg, line, weights);
    bad = windows_wanted(cfg) ? predict_windows(&p) : 0;
    if (!windows_wanted(cfg))
        predict_all(&p);
    ensemble_close(&p.ensemble);
    cam_end(&p);
    bad += infer_close(&p.infer);
    predict_close(&p);
    free(weights);
    if (bad)
        log_warning("%lld of %d images could not be read", (long long)bad, n);
    return bad ? EXIT_FAILED : EXIT_OK;
}

static void report_server_ids(struct problems *p)
{
    struct strbuf sets = STRBUF_INIT;

    for (const struct class_set *s = class_set_table; s->name; s++)
        if (s->has_ids)
            strbuf_addf(&sets, "%s%s", sets.len ? " or " : "", s->name);
    problems_error(p, "--server-ids",
                   "DATA.CLASS_SET must be %s: other class sets have no server ids",
                   sets.buf);
    strbuf_release(&sets);
}

static const char *predict_weights(const struct cmdline *line)
{
    const char *weights = cmdline_value(line, "--weights");

    return weights ? weights : cmdline_key(line, "MODEL.PRETRAINED");
}

/* Reports flags of the other task. Expects a valid model. */
static void check_task(const struct config *cfg, const struct cmdline *line,
                       struct problems *p)
{
    enum { VALUES_LACK = 6 /* of the flags below */ };
    static const char *const classes[] = {"--topk", "--probabilities", "--sort",
                                          "--copy", "--threshold",     "--top-images",
                                          "--csv",  "--submission"};
    bool segment = segments(cfg), values = regression(cfg);

    for (size_t i = 0; values && i < VALUES_LACK; i++)
        if (cmdline_has(line, classes[i]) || cmdline_value(line, classes[i]))
            problems_error(p, classes[i], "is of classes, and MODEL.TASK is regression");
    if (values && cfg->model.num_classes > 1 && cmdline_value(line, "--submission") &&
        !cmdline_value(line, "--sample"))
        problems_error(p, "--submission",
                       "needs --sample FILE with a column per target (MODEL.TASK "
                       "regression)");
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        if (segment && (cmdline_has(line, classes[i]) || cmdline_value(line, classes[i])))
            problems_error(p, classes[i],
                           "works only with classifiers, but %s is a segmentation model",
                           cfg->model.name);
    if (multilabel(cfg) && cmdline_value(line, "--sort"))
        problems_error(p, "--sort",
                       "is of one class per image, and MODEL.TASK is "
                       "multilabel");
    if (multilabel(cfg) && cmdline_value(line, "--submission") &&
        !cmdline_value(line, "--sample"))
        problems_error(p, "--submission",
                       "needs --sample FILE with a column per class (MODEL.TASK "
                       "multilabel)");
    if (!segment && cmdline_value(line, "--out"))
        problems_warn(p, "--out",
                      "has no effect: %s is a classifier; --sort DIR sorts its images",
                      cfg->model.name);
}

/* True if --weights names several files. */
static bool has_members(const struct cmdline *line)
{
    bool several = false;

    for (int i = 0; i < line->narg; i++)
        several |= ensemble_has(line, i);
    return several;
}

static void predict_check(const struct config *cfg, const struct cmdline *line,
                          struct problems *p)
{
    const struct class_set *set = class_set_find(cfg->data.class_set);
    struct cmdline others = ensemble_others(line);
    int before = p->nerror;

    model_check(cfg, p);
    model_check_whole(cfg, p);
    model_check_answers(cfg, p);
    if (p->nerror == before) {
        check_task(cfg, line, p);
        cam_check(cfg, line, p);
    }
    optimizer_config_check(cfg, p);
    schedule_check(cfg, p);
    device_check_one(cfg, p);
    data_check_names(cfg, p);
    if (p->nerror == before) {
        views_check(cfg, p);
        windows_check(cfg, p);
    }
    run_check_own_weights(cfg, line, p);
    images_check(&others, p);
    free(others.arg);
    ensemble_check(line, p);
    if (p->nerror == before && windows_wanted(cfg) && has_members(line))
        problems_error(p, "--weights",
                       "takes one file with TEST.SCALES or TEST.TTA of a segmentation");
    predict_check_flags(line, p);
    if (cmdline_has(line, "--server-ids") && (!set || !set->has_ids))
        report_server_ids(p);
}

static const struct cmd_flag predict_flags[] = {
    {"--weights", "FILE...",
     "checkpoint (its EMA weights, unless the raw ones scored higher) or state dict "
     "(default: MODEL.PRETRAINED); "
     "several files: an ensemble"},
    {"--topk", "K", "number of classes to print per image (5), or all"},
    {"--threshold", "P",
     "only answer with classes of at least this probability; several labels: instead of "
     "the thresholds in the checkpoint"},
    {"--top-images", "K",
     "at the end, also print the K most likely images of each class"},
    {"--json", "FILE",
     "also write the predictions to FILE as JSON (-: standard output, without other "
     "text)"},
    {"--csv", "FILE", "also write the predictions to FILE, one line per image"},
    {"--submission", "FILE",
     "write a competition CSV with id and label, or with the columns and rows of "
     "--sample"},
    {"--sample", "FILE",
     "with --submission: sample file; columns named like classes get probabilities"},
    {"--probabilities", NULL,
     "with --json or --csv: write the probabilities of all classes, by class index"},
    {"--sort", "DIR", "create folders DIR/CLASS with links to the images"},
    {"--copy", NULL, "with --sort: copy the images instead of linking them"},
    {"--cam", "DIR",
     "write DIR/NAME_cam.png: a Grad-CAM heat map over each image of what speaks for its "
     "most likely class"},
    {"--cam-class", "NAME", "with --cam: another class, by name or index"},
    {"--cam-layer", "STAGE",
     "with --cam: another stage than the last, by name (layer3) or index (-2)"},
    {"--out", "DIR", "folder for label maps and overlays (predictions)"},
    {"--server-ids", NULL, "write label maps with the ids of the Cityscapes server"},
    {0},
};

const struct verb cmd_predict = {
    .name = "predict",
    .evaluates = true,
    .examples =
        (const char *const[]){"trainc predict --weights "
                              "output/resnet18/default/best.safetensors photos/new",
                              "trainc predict --pretrained resnet50 cat.jpg", NULL},
    .help = "predict classes or label maps of images",
    .about =
        "Without --cfg, uses the configuration saved in the checkpoint. Images are "
        "preprocessed as in validation; for a folder, all images below it are read. For "
        "a "
        "classifier, prints the most likely classes of each image with their "
        "probabilities; --json, --csv, and --sort write them. A regression prints its "
        "values in the units of the training table. A segmentation model "
        "writes "
        "NAME_labels.png (the label map in the image's size, with a palette) and "
        "NAME_overlay.png. DATA.NUM_WORKERS threads decode images; the batch size is "
        "DATA.VAL_BATCH_SIZE (0: up to 32 for classifiers, 1 for segmentation). "
        "Unreadable "
        "files are reported and skipped, and the exit code is then 1; with DATA.ON_ERROR "
        "fail the first one ends the program. --weights A B C averages the probabilities "
        "of several checkpoints with the same classes; their architectures and input "
        "sizes may differ. --tta hflip averages the views of each image (TEST.TTA).",
    .args = "IMAGE...",
    .max_args = 1 << 20,
    .flags = predict_flags,
    .weights = predict_weights,
    .check = predict_check,
    .run = predict_run,
};
