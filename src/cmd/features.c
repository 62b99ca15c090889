/*
 * trainc features: writes the maps at the end of a model's stages, as timm's
 * features_only returns them, for any number of images to one file of arrays.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/say.h"
#include "cmd/cmd.h"
#include "cmd/infer.h"
#include "cmd/knn.h"
#include "cmd/run.h"
#include "io/json.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "session/devices.h"
#include "session/model_config.h"
#include "session/optimizer_config.h"
#include "session/schedules.h"
#include "train/data_config.h"
#include "train/pretrained.h"

struct features {
    struct infer infer;
    struct images images;
    bool pooled;
    int nstage;
    float *data[MODEL_STAGES]; /* [images, ...] in timm's order; NaN: unreadable image */
    float *batch;              /* one stage of a batch, in the layout of its tensor */
};

/* Returns the number of floats per image in the file. */
static int64_t stage_len(const struct features *f, const struct model_stage *s)
{
    return (int64_t)s->channels * (f->pooled ? 1 : s->height * s->width);
}

static void alloc_stages(struct features *f)
{
    int64_t largest = 0;

    f->nstage = f->infer.session.plan.nout;
    for (int i = 0; i < f->nstage; i++) {
        const struct model_stage *s = session_stage(&f->infer.session, i);
        int64_t n = f->images.n * stage_len(f, s);

        f->data[i] = xcalloc((size_t)n, sizeof(float));
        for (int64_t k = 0; k < n; k++)
            f->data[i][k] = NAN;
        if (tensor_len(s->x) > largest)
            largest = tensor_len(s->x);
    }
    f->batch = xcalloc((size_t)largest, sizeof(float));
}

/* Copies the map of one image from channels-last layout to timm's layout or, with --pool,
 * writes the mean of each channel. */
static void copy_map(const struct features *f, const struct model_stage *s,
                     const float *src, float *dst)
{
    int64_t places = (int64_t)s->height * s->width, c = s->channels;

    for (int64_t k = 0; k < c && f->pooled; k++) {
        double sum = 0;

        for (int64_t i = 0; i < places; i++)
            sum += (double)src[i * c + k];
        dst[k] = (float)(sum / (double)places);
    }
    if (!f->pooled && s->channels_last)
        memcpy(dst, src, (size_t)(places * c) * sizeof(*dst));
    for (int64_t k = 0; k < c && !f->pooled && !s->channels_last; k++)
        for (int64_t i = 0; i < places; i++)
            dst[k * places + i] = src[i * c + k];
}

static void copy_batch(struct features *f, const struct batch *b)
{
    for (int i = 0; i < f->nstage; i++) {
        const struct model_stage *s = session_stage(&f->infer.session, i);
        int64_t tokens = s->prefix + (int64_t)s->height * s->width;

        session_stage_data(&f->infer.session, i, f->batch);
        for (int k = 0; k < b->size; k++)
            if (infer_is_there(b, k))
                copy_map(f, s, f->batch + (k * tokens + s->prefix) * s->channels,
                         f->data[i] + b->sample[k] * stage_len(f, s));
    }
}

static struct npy_array array_of(const struct features *f, int i)
{
    const struct model_stage *s = session_stage(&f->infer.session, i);
    int64_t n = f->images.n, c = s->channels, h = s->height, w = s->width;
    struct npy_array a = {.name = s->name, .ndim = 4, .dim = {n, c, h, w}};

    if (f->pooled)
        a.ndim = 2;
    else if (s->channels_last)
        memcpy(a.dim, (int64_t[]){n, h, w, c}, sizeof(a.dim));
    a.data = f->data[i];
    return a;
}

/* Returns the image names in one heap block, each padded with NUL to *len bytes. */
static char *file_names(const struct features *f, int *len)
{
    char *all;

    *len = 1;
    for (int i = 0; i < f->images.n; i++)
        if ((int)strlen(f->images.path[i]) > *len)
            *len = (int)strlen(f->images.path[i]);
    all = xcalloc((size_t)f->images.n, (size_t)*len);
    for (int i = 0; i < f->images.n; i++)
        memcpy(all + (size_t)i * (size_t)*len, f->images.path[i],
               strlen(f->images.path[i]));
    return all;
}

static int write_npz(const struct features *f, const char *path, struct strbuf *why)
{
    struct npy_array a[MODEL_STAGES + 1];
    int len, rc;
    char *names = file_names(f, &len);

    for (int i = 0; i < f->nstage; i++)
        a[i] = array_of(f, i);
    a[f->nstage] = (struct npy_array){
        .name = "files", .text = len, .ndim = 1, .dim = {f->images.n}, .data = names};
    rc = npz_write(path, a, f->nstage + 1, why);
    free(names);
    return rc;
}

static int write_npy(const struct features *f, const char *path, struct strbuf *why)
{
    struct npy_array a = array_of(f, 0);

    return npy_write(path, &a, why);
}

static int write_safetensors(const struct features *f, const char *path,
                             struct strbuf *why)
{
    struct safetensors_writer out = {0};
    struct strbuf text = STRBUF_INIT;
    struct json_writer w = json_writer(&text);
    int rc;

    for (int i = 0; i < f->nstage; i++) {
        struct npy_array a = array_of(f, i);

        safetensors_writer_add(&out, a.name, SAFETENSORS_F32, a.ndim, a.dim, a.data);
    }
    json_begin_array(&w, NULL);
    for (int i = 0; i < f->images.n; i++)
        json_put_string(&w, NULL, f->images.path[i]);
    json_end(&w);
    safetensors_writer_meta(&out, "files", text.buf);
    rc = safetensors_writer_commit(&out, path, why);
    safetensors_writer_release(&out);
    strbuf_release(&text);
    return rc;
}

static const struct format {
    const char *end;
    enum written kind;
    int (*write)(const struct features *f, const char *path, struct strbuf *why);
} formats[] = {
    {".npz", WRITTEN_ARRAYS, write_npz},
    {".npy", WRITTEN_ARRAYS, write_npy},
    {".safetensors", WRITTEN_WEIGHTS, write_safetensors},
};

static const struct format *format_of(const char *path)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (!strcmp(path_extension(path), formats[i].end))
            return &formats[i];
    return NULL;
}

static void features_open(struct features *f, struct config *cfg,
                          const struct cmdline *line)
{
    char *weights = run_own_weights(cfg, line);

    images_of_args(&f->images, line);
    infer_open(&f->infer, cfg, &f->images);
    if (weights)
        pretrained_load(&f->infer.session, weights);
    else
        log_warning(
            "no weights were given (--weights FILE), so the features are those of "
            "random weights (SEED %lld)",
            (long long)cfg->seed);
    alloc_stages(f);
    free(weights);
}

static void print_stages(const struct features *f)
{
    struct strbuf shape = STRBUF_INIT;

    for (int i = 0; i < f->nstage; i++) {
        const struct model_stage *s = session_stage(&f->infer.session, i);
        struct npy_array a = array_of(f, i);

        strbuf_reset(&shape);
        for (int d = 0; d < a.ndim; d++)
            strbuf_addf(&shape, "%s%lld", d ? " x " : "", (long long)a.dim[d]);
        say("%d %-24s %-24s channels %d, reduction %d\n", f->infer.session.plan.out[i],
            s->name, shape.buf, s->channels, s->reduction);
    }
    strbuf_release(&shape);
}

/* Selects fp32, as timm does, unless the user or the configuration in a checkpoint has set
 * the precision. */
static void set_precision(struct config *cfg)
{
    const char *const keys[] = {"AMP_ENABLE", "AMP_OPT_LEVEL", "AMP.DTYPE"};

    for (int i = 0; i < 3; i++)
        if (config_origin(cfg, keys[i]))
            return;
    config_set(cfg, "AMP_ENABLE", "False");
}

/* Prints the k-NN accuracy of the last stage's vectors. */
static void print_knn(const struct features *f, int k)
{
    const struct model_stage *s = session_stage(&f->infer.session, f->nstage - 1);
    struct strbuf why = STRBUF_INIT;
    struct knn r = {.k = k};

    if (!knn_classify(&r, &f->images, f->data[f->nstage - 1], stage_len(f, s), &why))
        die("--knn: %s: name folders of both, such as photos/train photos/val", why.buf);
    say("%d-NN of %s: Acc@1 %.3f", k, s->name, r.top1);
    if (r.classes > 5)
        say(" Acc@5 %.3f", r.top5);
    say(" (%d classes, %d training images, %d validation images)\n", r.classes, r.ntrain,
        r.nval);
    strbuf_release(&why);
}

/* Parses --knn. Returns 0 without it, or -1 if the text is invalid. */
static int parse_knn(const struct cmdline *line)
{
    const char *text = cmdline_value(line, "--knn");
    char *end;
    long k;

    if (!text)
        return 0;
    k = strtol(text, &end, 10);
    return *text && !*end && k > 0 && k <= 1 << 20 ? (int)k : -1;
}

static int features_run(struct config *cfg, const struct cmdline *line)
{
    const char *out = cmdline_value(line, "--out");
    struct features f = {.pooled = cmdline_has(line, "--pool")};
    const struct format *format = out ? format_of(out) : NULL;
    struct strbuf why = STRBUF_INIT;
    const struct batch *b;
    int64_t bad;

    config_set(cfg, "MODEL.FEATURES_ONLY", "True");
    set_precision(cfg);
    features_open(&f, cfg, line);
    while ((b = infer_next(&f.infer)))
        copy_batch(&f, b);
    if (format && format->write(&f, out, &why))
        die("--out: %s", why.buf);
    print_stages(&f);
    if (parse_knn(line))
        print_knn(&f, parse_knn(line));
    bad = infer_close(&f.infer);
    if (bad)
        log_warning("%lld of %d images could not be read: their features are NaN",
                    (long long)bad, f.images.n);
    for (int i = 0; i < f.nstage; i++)
        free(f.data[i]);
    free(f.batch);
    images_release(&f.images);
    return bad ? EXIT_FAILED : EXIT_OK;
}

static const char *features_weights(const struct cmdline *line)
{
    const char *weights = cmdline_value(line, "--weights");

    return weights ? weights : cmdline_key(line, "MODEL.PRETRAINED");
}

static void check_out(const struct config *cfg, const struct cmdline *line,
                      struct problems *p)
{
    const char *out = cmdline_value(line, "--out");
    const struct format *f = out ? format_of(out) : NULL;
    int stages[MODEL_STAGES];

    if (parse_knn(line) < 0)
        problems_error(p, "--knn", "must be a number of at least 1, not '%s'",
                       cmdline_value(line, "--knn"));
    if (parse_knn(line) && !cmdline_has(line, "--pool"))
        problems_error(p, "--knn", "needs --pool: it compares one vector per image");
    if (!out && !parse_knn(line))
        problems_error(p, NULL, "no output file: give --out FILE.npz");
    else if (out && !f)
        problems_error(
            p, "--out",
            "'%s': unknown format; end the name in .npz, .npy, or .safetensors", out);
    if (!f)
        return;
    run_check_writable(line, "--out", f->kind, p);
    if (f->write == write_npy && !p->nerror &&
        model_stages_of_config(cfg, stages, NULL) > 1)
        problems_error(p, "--out",
                       "'%s': a .npy file holds only one array; select one stage "
                       "(--out-indices N) or write a .npz file",
                       out);
}

static void features_check(const struct config *cfg, const struct cmdline *line,
                           struct problems *p)
{
    struct config features_cfg = *cfg;

    features_cfg.model.features_only = true;
    model_check(&features_cfg, p);
    optimizer_config_check(cfg, p);
    schedule_check(cfg, p);
    device_check_one(cfg, p);
    data_check_names(cfg, p);
    if (cmdline_value(line, "--weights") || *cfg->model.pretrained)
        run_check_own_weights(cfg, line, p);
    if (*cfg->test.tta)
        config_warn_unread(cfg, p, "TEST.TTA", "features are those of the plain image");
    images_check(line, p);
    check_out(&features_cfg, line, p);
}

static const struct cmd_flag features_flags[] = {
    {"--weights", "FILE", "checkpoint or state dict (default: MODEL.PRETRAINED)"},
    {"--out", "FILE", "file to write: .npz, .npy (one stage), or .safetensors"},
    {"--pool", NULL, "write the mean of each map: [images, channels]"},
    {"--knn", "K",
     "with --pool: print the accuracy of weighted k-nearest-neighbor classification; "
     "images below train/CLASS/ vote for those below val/CLASS/"},
    {0},
};

const struct verb cmd_features = {
    .name = "features",
    .evaluates = true,
    .examples =
        (const char *const[]){
            "trainc features --model resnet18 --pretrained resnet18 --out maps.npz "
            "cat.jpg",
            "trainc features --weights best.safetensors --pool --out vectors.npy photos",
            NULL},
    .help = "write the feature maps of images, one array per stage",
    .about =
        "Writes the maps of timm's features_only, with its names and shapes: "
        "[images, channels, height, width], or [images, height, width, channels] for "
        "Swin. --out-indices selects stages: trainc features --model resnet50 "
        "--out-indices 1 2 3 4 --weights W --out f.npz DIR. Stages after the last "
        "selected one are not computed. The file holds an array per stage and the image "
        "names in 'files'. Images are preprocessed as in validation; for a folder, all "
        "images below it are read. The features of unreadable images are NaN, and the "
        "exit code is then 1. The model runs in fp32 unless the command line or the "
        "saved configuration sets AMP.",
    .args = "IMAGE...",
    .max_args = 1 << 20,
    .flags = features_flags,
    .weights = features_weights,
    .check = features_check,
    .run = features_run,
};
