/* Evaluation without training: see train/trainer.h. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "dist/group.h"
#include "session/devices.h"
#include "train/checkpoint.h"
#include "train/evaluate.h"
#include "train/output.h"
#include "train/pretrained.h"
#include "train/progress.h"
#include "train/result.h"
#include "train/signals.h"
#include "train/trainer.h"
#include "train/val_images.h"

static void load(struct session *s, const struct feed *f, struct result *r)
{
    const struct config *cfg = s->cfg;
    struct run_state state = {0};
    struct checkpoint_mark mark;
    struct strbuf why = STRBUF_INIT;

    if (*cfg->model.resume) {
        if (checkpoint_read(cfg->model.resume, s, &state, &f->classes, &why))
            die("MODEL.RESUME: %s", why.buf);
        r->epochs = state.epoch;
        r->train_loss = state.train_loss;
        if (checkpoint_mark(cfg->model.resume, &mark, &why))
            die("MODEL.RESUME: %s", why.buf);
        r->steps = mark.step;
        if (!s->plan.ema && mark.ema)
            log_info("ignoring the EMA weights in '%s': TRAIN.EMA.ENABLE is False "
                     "(--model-ema)",
                     cfg->model.resume);
    } else if (*cfg->model.pretrained && cfg->throughput_mode) {
        pretrained_load(s, cfg->model.pretrained);
    } else if (*cfg->model.pretrained) {
        pretrained_load_all(s, cfg->model.pretrained, "the data set", &f->classes);
    }
    strbuf_release(&why);
}

static void fill_result(struct result *r, const struct evaluation *e,
                        const struct class_list *classes)
{
    r->val = evaluate_scores(e, SESSION_RAW);
    r->ema = evaluate_scores(e, SESSION_EMA);
    r->classes = classes;
    r->val_iou = segmentation_iou(e->pixels[SESSION_RAW]);
    r->images_per_second = evaluate_rate(e);
}

/* Writes images/eval_0.png, ... to the run's folder. */
static void paint(struct session *s, const struct feed *f)
{
    char *run = output_dir(s->cfg), *dir = path_join(run, "images");
    struct val_images p = {.dir = dir, .prefix = "eval", .n = (int)s->cfg->log.images};

    if (val_images_write(&p, s, f))
        log_info("images written to '%s'", dir);
    free(run);
    free(dir);
}

/* Evaluates; writes a report to `dir` unless it is NULL. */
static bool run_eval(struct session *s, struct feed *f, struct evaluation *e,
                     const char *dir)
{
    struct report r;
    bool whole;

    if (!dir)
        return evaluate(s, f, "Val", e);
    report_init(&r, f->val, &f->classes);
    r.model = s->cfg->model.name;
    whole = evaluate_report(s, f, "Val", e, &r);
    if (whole && dist_is_first()) {
        report_write(&r, dir);
        log_info("report written to %s (scores per class as CSV files)", dir);
    }
    report_release(&r);
    return whole;
}

/* The arguments of trainer_eval, for each of its threads. */
struct job {
    struct config *cfg;
    const char *result, *report;
};

static int eval(void *arg)
{
    struct config *cfg = ((struct job *)arg)->cfg;
    const char *result = ((struct job *)arg)->result,
               *report = ((struct job *)arg)->report;
    struct evaluation e = {0};
    struct result r;
    struct session s;
    struct feed f;
    int code;

    dist_open(cfg->dist.timeout);
    result_begin(&r, dist_is_first() ? result : NULL, 0);
    signals_install(0);
    feed_open(&f, cfg, false);
    session_init(&s, cfg,
                 &(struct session_options){.eval = true, .factors = feed_factors(&f)});
    progress_init(dist_is_first() ? cfg->log.progress : PROGRESS_OFF);
    session_alloc(&s);
    load(&s, &f, &r);
    feed_start(&f, &s);
    signals_started();
    if (cfg->throughput_mode) {
        r.images_per_second = evaluate_throughput(&s, &f);
        if (!isnan(r.images_per_second))
            log_info("batch_size %lld throughput %.1f", (long long)s.plan.val_batch,
                     r.images_per_second);
    } else if (run_eval(&s, &f, &e, report)) {
        evaluate_log(&e, &f.classes);
        fill_result(&r, &e, &f.classes);
        if (dist_is_first())
            paint(&s, &f);
    }
    r.damaged_val = loader_stats(f.val_loader).bad_files;
    r.warned_val = loader_stats(f.val_loader).warned_files;
    if (feed_failure(&f))
        die("%s", feed_failure(&f));
    if (signals_pending())
        log_info("%s: stopping early", signals_name(signals_pending()));
    r.peak_memory_bytes = (int64_t)s.backend->peak_memory(s.device);
    code = result_end(&r, signals_pending() ? 128 + signals_pending() : EXIT_OK);
    session_drain(&s);
    feed_close(&f);
    session_release(&s);
    evaluate_release(&e);
    dist_close();
    return code;
}

int trainer_eval(struct config *cfg, const char *result, const char *report)
{
    return device_threads(cfg, eval, &(struct job){cfg, result, report});
}
