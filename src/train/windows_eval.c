#include "train/windows_eval.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/failure.h"
#include "base/log.h"
#include "dataset/label.h"
#include "ops/metrics_formula.h"
#include "train/data_config.h"
#include "train/evaluate.h"
#include "train/pretrained.h"
#include "train/progress.h"
#include "train/result.h"
#include "train/signals.h"
#include "train/windows.h"

/* The pixels so far. */
struct tally {
    const struct config *cfg;
    const struct dataset *data;
    struct image_limits limits;
    struct dataset_bytes bytes;
    struct label_reader truth;
    int64_t *matrix; /* [true class, predicted class] */
    struct boundary *boundary;
    int classes;
    int64_t images, bad;
    struct metrics metrics;
};

static void tally_init(struct tally *t, const struct config *cfg, const struct feed *f,
                       int classes)
{
    *t = (struct tally){.cfg = cfg, .data = f->val, .classes = classes};
    t->limits = data_limits(cfg);
    t->boundary = boundary_new(cfg->test.boundary_width, classes);
    t->matrix = xcalloc((size_t)classes * (size_t)classes, sizeof(*t->matrix));
}

static void tally_release(struct tally *t)
{
    dataset_bytes_release(&t->bytes);
    label_reader_release(&t->truth);
    free(t->matrix);
    boundary_free(t->boundary);
}

/* Predicts an image and compares it with its label map. Returns a failure and a reason. */
static int tally_image(struct tally *t, struct windows *w, int64_t i, struct strbuf *why)
{
    struct window_answer a;
    int rc = dataset_label_map(t->data, i, &t->limits, &t->bytes, &t->truth, why);

    if (rc == 0)
        rc = dataset_read(t->data, i, t->limits.max_bytes, &t->bytes, why);
    if (rc == 0)
        rc = windows_predict(w, t->bytes.data, t->bytes.len, &t->truth, &a, why);
    if (rc < 0)
        return rc;
    for (int64_t k = 0; k < (int64_t)a.w * a.h; k++)
        if (t->truth.pixel[k] != LABEL_IGNORE)
            t->matrix[(int64_t)t->truth.pixel[k] * t->classes + a.label[k]]++;
    boundary_add(t->boundary, t->truth.pixel, a.label, a.w, a.h);
    metrics_count(&t->metrics, a.pixels, (double)a.pixels,
                  a.pixels ? (float)(a.loss_sum / (double)a.pixels) : 0);
    t->images++;
    return 0;
}

/* An image that cannot be read: the end with DATA.ON_ERROR fail, else a warning. */
static void tell_damage(struct tally *t, int64_t i, const char *why)
{
    struct strbuf name = STRBUF_INIT;

    dataset_describe(t->data, i, &name);
    if (t->cfg->data.on_error == ON_ERROR_FAIL)
        die("'%s': %s", name.buf, why);
    log_warning("'%s' is left out: %s", name.buf, why);
    strbuf_release(&name);
    t->bad++;
}

/* Returns false if a signal came. */
static bool run(struct tally *t, struct windows *w)
{
    struct strbuf why = STRBUF_INIT;
    double began = clock_now();

    for (int64_t i = 0; i < t->data->n && !signals_pending(); i++) {
        double seconds;

        strbuf_reset(&why);
        if (tally_image(t, w, i, &why) < 0)
            tell_damage(t, i, why.buf);
        seconds = clock_now() - began;
        progress_show(
            &(struct progress){.title = "Val",
                               .done = i + 1,
                               .total = t->data->n,
                               .seconds = seconds,
                               .images_per_second = (double)t->images / (seconds + 1e-9),
                               .postfix = ""});
    }
    progress_wipe();
    strbuf_release(&why);
    return !signals_pending();
}

static void answer(const struct tally *t, const struct feed *f, const char *model,
                   const char *dir, struct evaluation *e, struct result *out)
{
    struct report r;

    e->pixels[SESSION_RAW] = xmalloc(sizeof(*e->pixels[SESSION_RAW]));
    segmentation_init(e->pixels[SESSION_RAW], t->matrix, t->classes);
    segmentation_set_boundary(e->pixels[SESSION_RAW], t->boundary);
    e->raw = t->metrics;
    e->classes = t->classes;
    e->images = t->images;
    evaluate_log(e, &f->classes);
    if (dir) {
        report_init(&r, f->val, &f->classes);
        r.model = model;
        r.weights = "as they are";
        r.pixels = e->pixels[SESSION_RAW];
        report_take_matrix(&r, t->matrix);
        report_write(&r, dir);
        log_info("report written to %s (scores per class as CSV files)", dir);
        report_release(&r);
    }
    out->val = evaluate_scores(e, SESSION_RAW);
    out->ema = evaluate_scores(e, SESSION_EMA);
    out->classes = &f->classes;
    out->val_iou = segmentation_iou(e->pixels[SESSION_RAW]);
    out->images_per_second = evaluate_rate(e);
    out->damaged_val = t->bad;
}

int windows_eval(struct config *cfg, const char *path, const char *result,
                 const char *report)
{
    double began = clock_now();
    struct evaluation e = {.balance = class_scores_unknown()};
    struct windows *w;
    struct tally t;
    struct result r;
    struct session s;
    struct feed f;
    bool whole;
    int code;

    char *batch = xasprintf("%d", windows_batch(cfg));

    config_set(cfg, "DATA.VAL_BATCH_SIZE", batch);
    free(batch);
    result_begin(&r, result, 0);
    signals_install(0);
    progress_init(cfg->log.progress);
    feed_open(&f, cfg, false);
    session_init(&s, cfg, &(struct session_options){.eval = true});
    session_alloc(&s);
    pretrained_load_all(&s, path, "the data set", &f.classes);
    tally_init(&t, cfg, &f, (int)session_classes(&s));
    w = windows_open(cfg, &s, &t.limits);
    signals_started();
    whole = run(&t, w);
    e.seconds = clock_now() - began;
    if (whole)
        answer(&t, &f, cfg->model.name, report, &e, &r);
    else
        log_info("%s: stopping early", signals_name(signals_pending()));
    code = result_end(&r, whole ? EXIT_OK : 128 + signals_pending());
    windows_close(w);
    tally_release(&t);
    evaluate_release(&e);
    feed_close(&f);
    session_release(&s);
    return code;
}
