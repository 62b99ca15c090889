/*
 * trainc predict: what a model makes of single images. A classifier prints the five most
 * likely classes; a segmentation becomes a label picture of the image's own size, and an
 * overlay.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/strmap.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "dataset/class_set.h"
#include "dataset/dataset.h"
#include "io/json.h"
#include "io/weights_file.h"
#include "session/devices.h"
#include "session/model_config.h"
#include "session/optimizer_config.h"
#include "session/schedules.h"
#include "session/session.h"
#include "train/data_config.h"
#include "train/paint.h"
#include "train/pretrained.h"
#include "train/segment_config.h"

enum { TOP = 5 };

struct predict {
    const struct config *cfg;
    struct session session;
    const struct class_set *set;
    char **name; /* of the classes */
    int classes;
    struct transform transform;
    struct image_limits limits;
    struct transformer transformer;
    const char *out; /* folder */
    bool server_ids;
    struct predict_image {
        char *path;
        const char *name; /* in it: what its pictures are called after */
    } * image;
    int nimage, cap;
    uint8_t *pixels;
    void *labels; /* none that count */
    float *logits;
};

/* Is this, found in a folder, an image to look at? A pipe might never end. */
static bool wanted(const char *path)
{
    struct stat st;

    if (!image_has_extension(path))
        return false;
    if (stat(path, &st) || S_ISREG(st.st_mode)) /* that it is gone is told later */
        return true;
    log_warning("'%s' is left out: it is no file", path);
    return false;
}

/*
 * A file as it is; of a folder the pictures in it, at any depth, in byte order, called by
 * what is behind the first `root` bytes of their paths.
 */
static void add_images(struct predict *p, const char *path, size_t root, int depth)
{
    bool folder = file_is_dir(path);
    int all = 0, n;
    char **name = folder ? dir_list(path, &all) : NULL;

    n = all;
    if (n < 0)
        die("cannot open '%s': %s", path, strerror(errno));
    dataset_check_depth(path, depth);
    if (folder && root && file_same(path, p->out)) /* its own pictures */
        n = 0;
    for (int i = 0; i < n; i++) {
        char *below = path_join(path, name[i]);

        if (*name[i] != '.')
            add_images(p, below, root ? root : strlen(below) - strlen(name[i]),
                       depth + 1);
        free(below);
    }
    if (!folder && (!root || wanted(path))) {
        struct predict_image *im;

        GROW(p->image, p->nimage, p->cap);
        im = &p->image[p->nimage++];
        im->path = xstrdup(path);
        im->name = root ? im->path + root : path_basename(im->path);
    }
    dir_list_free(name, all);
}

/* Those of the configuration; without any, class7. */
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

/* The classes that the weights were trained with, if they say so, or NULL. */
static json_t *saved_classes(const char *weights)
{
    struct strbuf why = STRBUF_INIT;
    struct weights_file file;
    const char *saved;
    json_t *list;

    if (weights_file_open(&file, weights, true, &why))
        die("--weights: %s", why.buf);
    saved = weights_file_meta(&file, "classes");
    list = saved ? json_parse(saved, strlen(saved), &why) : NULL;
    weights_file_close(&file);
    strbuf_release(&why);
    return list;
}

/* Their number, unless the configuration insists on one. */
static void adopt_classes(struct config *cfg, const json_t *list)
{
    struct strbuf n = STRBUF_INIT;

    strbuf_addf(&n, "%zu", json_array_size(list));
    if (json_array_size(list) && !config_where(cfg, "MODEL.NUM_CLASSES"))
        config_set(cfg, "MODEL.NUM_CLASSES", n.buf);
    strbuf_release(&n);
}

/* The weights; `list` are the names of their classes, or NULL. */
static void predict_load(struct predict *p, const char *weights, const json_t *list)
{
    bool named = p->set || p->cfg->data.class_names.n;

    config_names(p);
    pretrained_load_all(
        &p->session, weights, "the configuration",
        &(struct class_list){(const char *const *)p->name, named ? p->classes : 0});
    for (int c = 0; c < p->classes; c++) {
        const char *name = json_string_value(json_array_get(list, (size_t)c));

        if (!name)
            continue;
        free(p->name[c]);
        p->name[c] = xstrdup(name);
    }
}

static void predict_open(struct predict *p, struct config *cfg, const char *weights)
{
    json_t *list = saved_classes(weights);
    struct loader_options o;
    const struct tensor *z;

    adopt_classes(cfg, list);
    config_set(cfg, "DATA.BATCH_SIZE", "1");
    config_set(cfg, "DATA.VAL_BATCH_SIZE", "1");
    config_set(cfg, "TRAIN.EMA.ENABLE", "False");
    p->cfg = cfg;
    p->classes = (int)cfg->model.num_classes;
    p->set = class_set_find(cfg->data.class_set);
    data_loader_options(cfg, DATA_VAL, &o);
    p->transform = model_of_config(cfg)->family->task == MODEL_SEGMENT
                       ? segment_transform(cfg, false)
                       : o.transform;
    p->limits = o.limits;
    transformer_init(&p->transformer, &p->limits);
    session_init(&p->session, cfg, &(struct session_options){.eval = true});
    session_alloc(&p->session);
    predict_load(p, weights, list);
    json_decref(list);
    z = p->session.build[SESSION_EVAL].logits;
    p->pixels = xmalloc(tensor_size(p->session.build[SESSION_EVAL].pixels));
    p->labels = xmalloc(tensor_size(p->session.build[SESSION_EVAL].labels));
    memset(p->labels, 255, tensor_size(p->session.build[SESSION_EVAL].labels));
    p->logits = xmalloc((size_t)tensor_len(z) * sizeof(float));
    session_eval_begin(&p->session, false);
}

static void predict_close(struct predict *p)
{
    session_release(&p->session);
    transformer_release(&p->transformer);
    for (int i = 0; i < p->nimage; i++)
        free(p->image[i].path);
    free(p->image);
    for (int c = 0; c < p->classes; c++)
        free(p->name[c]);
    free(p->name);
    free(p->pixels);
    free(p->labels);
    free(p->logits);
}

static void print_top(const struct predict *p, const char *path)
{
    double sum = 0, most = -INFINITY;
    bool *said = xcalloc((size_t)p->classes, sizeof(*said));

    for (int c = 0; c < p->classes; c++)
        most = fmax(most, (double)p->logits[c]);
    for (int c = 0; c < p->classes; c++)
        sum += exp((double)p->logits[c] - most);
    printf("%s:", path);
    for (int k = 0; k < TOP && k < p->classes; k++) {
        int best = -1;

        for (int c = 0; c < p->classes; c++)
            if (!said[c] && (best < 0 || p->logits[c] > p->logits[best]))
                best = c;
        said[best] = true;
        printf("%s %s %.4f", k ? "," : "", p->name[best],
               exp((double)p->logits[best] - most) / sum);
    }
    putchar('\n');
    free(said);
}

/* The model's classes at the image's own size, nearest; `n` gets the pixels of each. */
static uint8_t *own_size(const struct predict *p, int w, int h, int64_t *n)
{
    const struct tensor *z = p->session.build[SESSION_EVAL].logits;
    const struct transform *t = &p->transform;
    int zw = (int)z->dim[3], zh = (int)z->dim[2], rw, rh;
    uint8_t *small = xmalloc((size_t)zw * (size_t)zh);
    uint8_t *label = xmalloc((size_t)w * (size_t)h), *to = label;

    paint_argmax(p->logits, (int64_t)zw * zh, p->classes, small);
    transform_scene_fit(t, w, h, &rw, &rh);
    for (int y = 0; y < h; y++) {
        int sy = (int)((2 * (int64_t)y + 1) * rh / (2 * (int64_t)h)) - (rh - t->h) / 2;

        for (int x = 0; x < w; x++) {
            int sx =
                (int)((2 * (int64_t)x + 1) * rw / (2 * (int64_t)w)) - (rw - t->w) / 2;

            *to = small[sy / t->label_divisor * zw + sx / t->label_divisor];
            n[*to++]++;
        }
    }
    free(small);
    return label;
}

static char *out_path(const struct predict *p, const char *name, const char *end)
{
    int len = (int)(strlen(name) - strlen(path_extension(name)));

    return xasprintf("%s/%.*s%s", p->out, len, name, end);
}

static void write_labels(const struct predict *p, const char *path, uint8_t *label, int w,
                         int h)
{
    uint8_t palette[256 * 3];

    if (!p->server_ids) {
        paint_palette(p->set, palette);
        paint_write(path, label, w, h, palette);
        return;
    }
    for (int64_t i = 0; i < (int64_t)w * h; i++)
        label[i] = (uint8_t)class_set_value(p->set, label[i]);
    for (int i = 0; i < 256 * 3; i++)
        palette[i] = (uint8_t)(i / 3);
    paint_write(path, label, w, h, palette);
}

static void make_folder_of(const char *path)
{
    char *dir = path_dirname(path);

    if (dir_make_all(dir))
        die("cannot make the folder '%s': %s", dir, strerror(errno));
    free(dir);
}

static void segment(struct predict *p, const struct predict_image *im, const void *data,
                    size_t len)
{
    struct image_decoder *d = image_decoder_new(&p->limits);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};
    int64_t n[256] = {0};
    uint8_t *label, *rgb;
    char *labels = out_path(p, im->name, "_labels.png");
    char *overlay = out_path(p, im->name, "_overlay.png");
    int w, h;

    if (image_decoder_open(d, data, len, &w, &h, &why) ||
        image_decoder_read(d, NULL, &img, &why))
        die("'%s': %s", im->path, why.buf);
    label = own_size(p, w, h, n);
    rgb = xmalloc((size_t)w * (size_t)h * 3);
    for (int y = 0; y < h; y++)
        memcpy(rgb + (int64_t)3 * w * y, img.pixel + (size_t)y * img.stride,
               (size_t)3 * (size_t)w);
    paint_overlay(p->set, rgb, label, (int64_t)w * h, rgb);
    make_folder_of(labels);
    paint_write(overlay, rgb, w, h, NULL);
    write_labels(p, labels, label, w, h);
    printf("%s: %s, %s:", im->path, labels, overlay);
    for (int c = 0, said = 0; c < p->classes; c++)
        if (n[c])
            printf("%s %s %.1f %%", said++ ? "," : "", p->name[c],
                   100 * (double)n[c] / (double)w / (double)h);
    putchar('\n');
    image_release(&img);
    image_decoder_free(d);
    strbuf_release(&why);
    free(label);
    free(rgb);
    free(labels);
    free(overlay);
}

/* false: the file cannot be read, and that was said. */
static bool predict_one(struct predict *p, const struct predict_image *im)
{
    const char *path = im->path;
    struct augment_key key = {0};
    struct strbuf why = STRBUF_INIT;
    size_t len = 0;
    char *data = file_read(path, &len);

    if (!data)
        strbuf_addf(&why, "%s", strerror(errno));
    else
        (void)transform_file(&p->transformer, &p->transform, &key, data, len, p->pixels,
                             &why);
    if (why.len && p->cfg->data.on_error == ON_ERROR_FAIL)
        die("cannot read '%s': %s", path, why.buf);
    if (why.len) {
        log_warning("cannot read '%s': %s", path, why.buf);
    } else {
        session_eval(&p->session, p->pixels, p->labels);
        session_logits(&p->session, p->logits);
        if (p->session.plan.model->family->task == MODEL_SEGMENT)
            segment(p, im, data, len);
        else
            print_top(p, path);
    }
    free(data);
    if (!why.len)
        return true;
    strbuf_release(&why);
    return false;
}

/* Two images of one name would overwrite each other's pictures. */
static void check_names(const struct predict *p)
{
    struct strmap seen = {0};

    for (int i = 0; i < p->nimage; i++) {
        char *out = out_path(p, p->image[i].name, "");
        const char *before = strmap_get(&seen, out);

        if (before)
            usage("'%s' and '%s' would both be written to '%s_labels.png'", before,
                  p->image[i].path, out);
        strmap_put(&seen, out, p->image[i].path);
        free(out);
    }
    strmap_release(&seen);
}

_Noreturn static void no_images(const char *folder)
{
    struct strbuf known = STRBUF_INIT;

    image_add_extensions(&known);
    usage("'%s' has no images: no name ends in %s", folder, known.buf);
}

static int predict_run(struct config *cfg, const struct cmdline *line)
{
    const char *out = cmdline_value(line, "--out");
    struct predict p = {.out = out ? out : "predictions",
                        .server_ids = cmdline_has(line, "--server-ids")};
    int bad = 0, n;

    for (int i = 0; i < line->narg; i++) {
        n = p.nimage;
        add_images(&p, line->arg[i].text, 0, 0);
        if (p.nimage == n)
            no_images(line->arg[i].text);
    }
    if (model_of_config(cfg)->family->task == MODEL_SEGMENT) {
        check_names(&p);
        if (dir_make_all(p.out))
            die("cannot make the folder '%s': %s", p.out, strerror(errno));
    }
    predict_open(&p, cfg, cmdline_value(line, "--weights"));
    for (int i = 0; i < p.nimage; i++)
        bad += !predict_one(&p, &p.image[i]);
    if (bad)
        log_warning("%d of %d images could not be read", bad, p.nimage);
    predict_close(&p);
    return bad ? EXIT_FAILED : EXIT_OK;
}

static void refuse_server_ids(struct problems *p)
{
    struct strbuf sets = STRBUF_INIT;

    for (const struct class_set *s = class_set_table; s->name; s++)
        if (s->has_ids)
            strbuf_addf(&sets, "%s%s", sets.len ? " or " : "", s->name);
    problems_error(p, "--server-ids",
                   "DATA.CLASS_SET must be %s, whose classes have ids beside their "
                   "indices",
                   sets.buf);
    strbuf_release(&sets);
}

static const char *predict_weights(const struct cmdline *line)
{
    return cmdline_value(line, "--weights");
}

static void predict_check(const struct config *cfg, const struct cmdline *line,
                          struct problems *p)
{
    const char *weights = cmdline_value(line, "--weights");
    const struct class_set *set = class_set_find(cfg->data.class_set);

    model_check(cfg, p);
    optimizer_config_check(cfg, p);
    schedule_check(cfg, p);
    device_check_run(cfg, p);
    data_check_input(cfg, p);
    data_check_names(cfg, p);
    if (!weights)
        problems_error(p, NULL, "no weights: give --weights FILE");
    else if (!file_exists(weights))
        problems_error(p, "--weights", "there is no file '%s'", weights);
    if (!line->narg)
        problems_error(p, NULL, "no images: name the files to look at");
    for (int i = 0; i < line->narg; i++)
        if (!file_exists(line->arg[i].text))
            problems_error(p, NULL, "there is no file '%s'", line->arg[i].text);
    if (cmdline_has(line, "--server-ids") && (!set || !set->has_ids))
        refuse_server_ids(p);
}

static const struct cmd_flag predict_flags[] = {
    {"--weights", "FILE",
     "checkpoint or state dict; of a checkpoint the average, if any"},
    {"--out", "DIR", "folder for label pictures and overlays (predictions)"},
    {"--server-ids", NULL, "label pictures with the ids of Cityscapes' server"},
    {0},
};

const struct verb cmd_predict = {
    .name = "predict",
    .help = "say what single images show: classes, or label pictures",
    .about =
        "Without --cfg a checkpoint of trainc brings its configuration. Images are "
        "prepared "
        "as in validation; of a folder all images below it are "
        "taken. A classifier prints the five most "
        "likely classes of each image with their probabilities. A model that "
        "segments writes NAME_labels.png, of the image's own size with one class a "
        "pixel and a palette, and NAME_overlay.png. A file that cannot be read is named, "
        "and the exit code is 1 then; with DATA.ON_ERROR fail it is the last.",
    .args = "IMAGE...",
    .max_args = 1 << 20,
    .flags = predict_flags,
    .weights = predict_weights,
    .check = predict_check,
    .run = predict_run,
};
