/* trainc predict --cam: a heat map over each image of what speaks for a class. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/say.h"
#include "base/suggest.h"
#include "cmd/predict.h"
#include "session/model_config.h"
#include "train/cam.h"
#include "train/paint.h"

#define CAM_END "_cam.png"

struct cam_run {
    float *seed;   /* [batch, classes] */
    float *x, *dx; /* output of the layer and its gradient, of a batch */
    float *map;
    int *class; /* of each image, by index */
    int64_t written, empty;
};

static const struct model_stage *stage_of(const struct predict *p)
{
    return &p->infer.session.build[SESSION_CAM].cam;
}

/* ---- flags ---- */

static int find_stage(const struct config *cfg, const char *text, struct strbuf *why)
{
    struct arena mem = {0};
    struct model_options o = model_options_of_config(cfg, &mem);
    int k = model_stage_find(model_of_config(cfg), &o, (int)cfg->model.in_chans,
                             config_height(cfg), config_width(cfg), text, why);

    arena_release(&mem);
    return k;
}

/* Returns why --cam does not work with this configuration, or NULL. */
static const char *refusal(const struct config *cfg, const struct cmdline *line)
{
    enum model_task task = model_task_of_config(cfg, model_of_config(cfg));

    if (task == MODEL_SEGMENT || task == MODEL_REGRESSION)
        return "explains the classes of whole images: it works only with classifiers";
    if (cfg->quant.enable)
        return "needs gradients, and an 8-bit model (QUANT.ENABLE) has none";
    if (*cfg->test.tta)
        return "explains one view of an image: it does not work with TEST.TTA";
    for (int i = 0; i < line->narg; i++)
        if (ensemble_has(line, i))
            return "explains one network: --weights takes one file with it";
    return NULL;
}

void cam_check(const struct config *cfg, const struct cmdline *line, struct problems *p)
{
    static const char *const more[] = {"--cam-class", "--cam-layer"};
    const char *layer = cmdline_value(line, "--cam-layer");
    const char *why = refusal(cfg, line);
    struct strbuf text = STRBUF_INIT;

    for (int i = 0; i < 2 && !cmdline_value(line, "--cam"); i++)
        if (cmdline_value(line, more[i]))
            problems_error(p, more[i], "has no effect without --cam DIR");
    if (!cmdline_value(line, "--cam"))
        return;
    if (why)
        problems_error(p, "--cam", "%s", why);
    else if (layer && find_stage(cfg, layer, &text) < 0)
        problems_error(p, "--cam-layer", "%s", text.buf);
    strbuf_release(&text);
}

void cam_of_flags(struct predict *p, const struct config *cfg, const struct cmdline *line)
{
    const char *layer = cmdline_value(line, "--cam-layer");
    struct strbuf why = STRBUF_INIT;

    p->cam = cmdline_value(line, "--cam");
    p->infer.cam = p->cam != NULL;
    p->infer.cam_stage = p->cam && layer ? find_stage(cfg, layer, &why) : -1;
    strbuf_release(&why);
    if (!p->cam)
        return;
    files_check(p, "--cam", p->cam, CAM_END);
    if (dir_make_all(p->cam))
        die("cannot create the folder '%s': %s", p->cam, strerror(errno));
}

/* Returns the index of a class by name or by number, or dies. */
static int find_class(const struct predict *p, const char *text)
{
    struct strbuf classes = STRBUF_INIT;
    char *end;
    long k = strtol(text, &end, 10);

    for (int c = 0; c < p->classes; c++)
        if (!strcmp(p->name[c], text))
            return c;
    if (*text && !*end && k >= 0 && k < p->classes)
        return (int)k;
    for (int c = 0; c < p->classes && c < 20; c++)
        strbuf_addf(&classes, "%s%s", c ? ", " : "", p->name[c]);
    usage("--cam-class: there is no class '%s'; the classes are %s%s", text, classes.buf,
          p->classes > 20 ? ", ..." : "");
}

/* ---- maps ---- */

void cam_begin(struct predict *p, const struct cmdline *line)
{
    const char *class = cmdline_value(line, "--cam-class");
    const struct build *b = &p->infer.session.build[SESSION_CAM];
    struct cam_run *r;

    if (!p->cam)
        return;
    p->cam_class = class ? find_class(p, class) : -1;
    r = p->maps = xcalloc(1, sizeof(*r));
    r->seed = xcalloc((size_t)tensor_len(b->seed), sizeof(*r->seed));
    r->x = xcalloc((size_t)tensor_len(b->cam.x), sizeof(*r->x));
    r->dx = xcalloc((size_t)tensor_len(b->cam.x), sizeof(*r->dx));
    r->map = xcalloc((size_t)b->cam.height * (size_t)b->cam.width, sizeof(*r->map));
    r->class = xcalloc((size_t)p->images.n, sizeof(*r->class));
}

static int largest(const float *logits, int n)
{
    int best = 0;

    for (int c = 1; c < n; c++)
        if (logits[c] > logits[best])
            best = c;
    return best;
}

static void write_map(struct predict *p, int64_t i, const float *x, const float *dx)
{
    struct cam_run *r = p->maps;
    char *path = files_path(p->cam, p->images.name[i], CAM_END);
    int w, h;
    uint8_t *rgb = files_read_rgb(p, i, &w, &h);

    r->empty += !cam_map(stage_of(p), x, dx, r->map);
    cam_paint(stage_of(p), r->map, &p->infer.transform, rgb, w, h);
    files_make_folder(path);
    paint_write(path, rgb, w, h, NULL);
    r->written++;
    free(rgb);
    free(path);
}

/* Writes the class of each image to `r`, and 1 for its logit to the seed. */
static void choose_classes(const struct predict *p, struct cam_run *r,
                           const struct batch *b, const float *logits)
{
    memset(r->seed, 0, (size_t)b->size * (size_t)p->classes * sizeof(*r->seed));
    for (int i = 0; i < b->size; i++) {
        const float *z = logits + (int64_t)i * p->classes;
        int class = p->cam_class >= 0 ? p->cam_class : largest(z, p->classes);

        r->seed[(int64_t)i * p->classes + class] = 1;
        if (infer_is_there(b, i))
            r->class[b->sample[i]] = class;
    }
}

void cam_batch(struct predict *p, const struct batch *b, const float *logits)
{
    struct cam_run *r = p->maps;
    int64_t each;

    if (!p->cam)
        return;
    each = tensor_len(stage_of(p)->x) / stage_of(p)->x->dim[0];
    choose_classes(p, r, b, logits);
    session_cam(&p->infer.session, b->pixel, r->seed, r->x, r->dx);
    for (int i = 0; i < b->size; i++)
        if (infer_is_there(b, i))
            write_map(p, b->sample[i], r->x + i * each, r->dx + i * each);
}

void cam_put(struct predict *p, int64_t i)
{
    char *path = p->cam ? files_path(p->cam, p->images.name[i], CAM_END) : NULL;

    if (!path)
        return;
    json_put_string(&p->writer, "cam", path);
    json_put_string(&p->writer, "cam_class", p->name[p->maps->class[i]]);
    free(path);
}

void cam_end(struct predict *p)
{
    struct cam_run *r = p->maps;

    if (!p->cam)
        return;
    say("heat maps written to '%s': %lld, of layer %s\n", p->cam, (long long)r->written,
        stage_of(p)->name);
    if (r->empty)
        log_warning(
            "heat maps that are 0 everywhere: %lld (nothing in layer %s speaks for "
            "the class)",
            (long long)r->empty, stage_of(p)->name);
    free(r->seed);
    free(r->x);
    free(r->dx);
    free(r->map);
    free(r->class);
    free(r);
}
