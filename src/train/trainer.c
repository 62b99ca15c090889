#include "train/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/version.h"
#include "train/evaluate.h"
#include "train/pretrained.h"
#include "train/progress.h"
#include "train/result.h"
#include "train/saves.h"
#include "train/signals.h"

struct trainer {
    const struct config *cfg;
    struct result result;
    struct feed feed;
    struct session session;
    struct output output;
    struct saves saves;
    struct run_state state;
    int64_t step;          /* updates tried; control.step's twin */
    struct metrics window; /* since the last log line */
    double window_began, window_waited;
    double train_seconds; /* in the loop over batches, of this process */
    double epoch_rate;    /* images per second of the last epoch */
    int64_t replay;       /* batches to do again that the metrics count already */
    int64_t loading; /* the batch of the run that the loader starts at; -1: under way */
    int64_t train_images;
    double last_loss, last_rate, last_share; /* for the progress line */
    int64_t skipped;     /* as of the last look at the control tensor */
    struct val_line val; /* the last validation; NaN: none */
    int64_t saved_step;  /* -1: nothing saved by this process */
    bool save_failed;
};

static const struct val_line no_val = {-1, 0, NAN, NAN, NAN, NAN, NAN, NAN};

/* ---- start ---- */

static void log_start(const struct trainer *t)
{
    const struct session *s = &t->session;
    const struct plan *p = &s->plan;

    log_info("trainc %s: %s on %s (%s), %s", TRAINC_VERSION, t->cfg->model.name,
             s->backend->name, s->backend->describe(s->device), p->compute);
    if (p->amp_remark)
        log_info("%s", p->amp_remark);
    log_info("%lld training images, %d classes: %lld updates of %lld images an epoch%s",
             (long long)t->feed.train->n, t->feed.classes.n,
             (long long)p->updates_per_epoch, (long long)p->batch * p->accumulation.group,
             p->accumulation.batches % p->accumulation.group ? ", fewer in the last"
                                                             : "");
    log_info("everything goes to '%s'", t->output.dir);
    log_info("learning rate %.6g, %.6g at the start and %.6g at the end (factor %.6g)",
             p->schedule.base, schedule_lr(&p->schedule, 0),
             schedule_lr(&p->schedule, p->updates), p->lr_factor);
    if (p->schedule.kind == SCHEDULE_ONECYCLE && p->warmup_updates)
        log_info("onecycle warms up by PCT_START: TRAIN.WARMUP_EPOCHS has no effect");
}

static void begin_at(struct trainer *t, int64_t epoch)
{
    struct session *s = &t->session;
    struct control c = session_control(s);

    c.step = epoch * s->plan.updates_per_epoch;
    c.micro = accumulation_micro(&s->plan.accumulation, c.step);
    session_set_control(s, &c);
    t->state.epoch = epoch;
    t->state.train = (struct metrics){0};
}

/*
 * Fits what was loaded to this run's epochs. A run that left in the middle of an update
 * does its batches again; the metrics count them already, so they are set back behind
 * them.
 */
static void adopt(struct trainer *t)
{
    int64_t now = t->session.plan.updates_per_epoch, then = t->state.updates_per_epoch;
    const struct accumulation *a = &t->session.plan.accumulation;
    struct control c = session_control(&t->session);
    int64_t begun = c.micro - accumulation_micro(a, c.step);

    c.seed = (uint64_t)t->cfg->seed;
    c.micro -= begun;
    t->replay = begun > 0 && begun < accumulation_size(a, c.micro) ? begun : 0;
    session_set_control(&t->session, &c);
    if (then != now) {
        log_warning("the checkpoint counts %lld updates an epoch, this run %lld: it goes "
                    "on at the start of epoch %lld",
                    (long long)then, (long long)now, (long long)t->state.epoch);
        begin_at(t, t->state.epoch);
    }
    session_set_metrics(&t->session, &t->state.train);
    t->skipped = c.skipped;
}

static bool load_start(struct trainer *t)
{
    const struct config *cfg = t->cfg;
    struct strbuf why = STRBUF_INIT;
    bool resumed = true;

    if (*cfg->model.resume) {
        if (checkpoint_read(cfg->model.resume, &t->session, &t->state, &t->feed.classes,
                            &why))
            die("MODEL.RESUME: %s", why.buf);
        log_info("resumed from '%s': epoch %lld", cfg->model.resume,
                 (long long)t->state.epoch);
    } else {
        resumed =
            cfg->train.auto_resume && saves_resume(&t->saves, &t->session, &t->state);
    }
    if (resumed)
        adopt(t);
    else if (*cfg->model.pretrained)
        pretrained_load(&t->session, cfg->model.pretrained);
    if (!resumed && cfg->train.start_epoch)
        begin_at(t, cfg->train.start_epoch);
    t->state.updates_per_epoch = t->session.plan.updates_per_epoch;
    strbuf_release(&why);
    return resumed;
}

static void start(struct trainer *t)
{
    const struct config *cfg = t->cfg;
    bool resumed;

    feed_open(&t->feed, cfg, true);
    session_init(&t->session, cfg,
                 &(struct session_options){
                     .train = true, .eval = true, .images = t->feed.train->n});
    output_prepare(&t->output, cfg);
    progress_init(cfg->log.progress);
    t->saves = (struct saves){t->output.dir, &t->feed.classes, t->output.config,
                              (int)cfg->train.keep_checkpoints};
    log_start(t);
    saves_check_room(&t->saves, &t->session);
    session_alloc(&t->session);
    t->state = (struct run_state){
        .best_top1 = -1,
        .train_loss = NAN,
        .val_loss = NAN,
        .val_top1 = NAN,
        .val_top5 = NAN,
        .ema_top1 = NAN,
    };
    t->val = no_val;
    resumed = load_start(t);
    t->step = session_control(&t->session).step;
    output_open(&t->output, &t->session, &t->state, t->step, resumed);
    feed_start(&t->feed);
}

/* ---- the loop ---- */

/* Skipped updates: said when they happen, and too many in a row end the run. */
static void check_skips(struct trainer *t, const struct control *c)
{
    if (c->skipped > t->skipped) {
        log_warning("%lld of the updates up to %lld met gradients that are not finite "
                    "and were skipped; the loss scale is %g",
                    (long long)(c->skipped - t->skipped), (long long)c->step,
                    c->loss_scale);
        if (t->session.plan.scaler.dynamic)
            log_once("a few skipped updates are expected while the loss scale settles");
    }
    t->skipped = c->skipped;
    if (c->skipped_row < t->cfg->amp.max_skips)
        return;
    die("the last %lld updates all met gradients that are not finite (update %lld, loss "
        "scale %g): %s",
        (long long)c->skipped_row, (long long)c->step, c->loss_scale,
        t->session.plan.scaler.dynamic && c->loss_scale > t->session.plan.scaler.min
            ? "AMP.INIT_SCALE may be too large"
            : "the run has diverged; a lower TRAIN.BASE_LR, a longer warm-up, "
              "TRAIN.CLIP_GRAD or AMP.DTYPE bf16 may help");
}

static void log_train(struct trainer *t, const struct train_line *l)
{
    const struct plan *p = &t->session.plan;
    int64_t in_epoch = l->step - t->state.epoch * p->updates_per_epoch;
    int64_t batches = t->cfg->train.epochs * p->accumulation.batches - t->session.micro;
    double left = (double)(batches * p->batch) / (l->images_per_second + 1e-9);
    struct strbuf s = STRBUF_INIT, eta = STRBUF_INIT;

    strbuf_add_duration(&eta, left);
    strbuf_addf(&s,
                "Train: [%lld/%lld][%lld/%lld]  eta %s  lr %.6g  loss %.4f (%.4f)  "
                "grad_norm %.4f  loss_scale %g  %.0f img/s  data %.0f %%",
                (long long)t->state.epoch, (long long)t->cfg->train.epochs,
                (long long)in_epoch, (long long)p->updates_per_epoch, eta.buf, l->lr,
                l->loss, metrics_loss(&t->state.train), l->grad_norm, l->loss_scale,
                l->images_per_second, 100 * l->data_share);
    if (progress_active())
        log_quiet("%s", s.buf);
    else
        log_info("%s", s.buf);
    strbuf_release(&s);
    strbuf_release(&eta);
}

static void begin_window(struct trainer *t)
{
    t->window = t->state.train;
    t->window_began = clock_now();
    t->window_waited = loader_stats(t->feed.train_loader).wait_seconds;
}

static void end_window(struct trainer *t)
{
    struct control c = session_control(&t->session);
    double seconds = clock_now() - t->window_began;
    double waited = loader_stats(t->feed.train_loader).wait_seconds - t->window_waited;
    struct train_line l = {
        .step = t->step,
        .epoch = t->state.epoch,
        .lr = c.lr,
        .grad_norm = c.grad_norm,
        .loss_scale = c.loss_scale,
        .skipped = c.skipped,
        .data_share = waited / (seconds + 1e-9),
    };
    struct metrics m;

    t->state.train = session_metrics(&t->session);
    m = metrics_since(&t->state.train, &t->window);
    l.loss = metrics_loss(&m);
    l.top1 = metrics_percent(&m, m.top1);
    l.images_per_second = (double)(m.runs * t->session.plan.batch) / (seconds + 1e-9);
    t->last_loss = l.loss;
    t->last_rate = l.images_per_second;
    t->last_share = l.data_share;
    log_train(t, &l);
    output_train(&t->output, &l);
    check_skips(t, &c);
    begin_window(t);
}

static void save(struct trainer *t, bool epoch_end, bool best)
{
    t->saved_step = t->step;
    if (!epoch_end)
        t->state.train = session_metrics(&t->session);
    t->save_failed = saves_write(&t->saves, &t->session, &t->state, epoch_end, best) != 0;
}

static bool out_of_steps(const struct trainer *t)
{
    return t->cfg->train.max_steps && t->step >= t->cfg->train.max_steps;
}

static void show(const struct trainer *t, double began)
{
    const struct plan *p = &t->session.plan;
    struct strbuf title = STRBUF_INIT, post = STRBUF_INIT;
    int64_t in_epoch = t->step - t->state.epoch * p->updates_per_epoch;

    if (!progress_active())
        return;
    strbuf_addf(&title, "Train %lld/%lld", (long long)t->state.epoch,
                (long long)t->cfg->train.epochs);
    strbuf_addf(&post, "loss %.3f, lr %.2e, data %.0f %%", t->last_loss,
                schedule_lr(&p->schedule, t->step), 100 * t->last_share);
    progress_show(&(struct progress){
        .title = title.buf,
        .done = in_epoch,
        .total = p->updates_per_epoch,
        .seconds = clock_now() - began,
        .images_per_second = t->last_rate,
        .postfix = post.buf,
    });
    strbuf_release(&title);
    strbuf_release(&post);
}

/* Behind each update. */
static void after_update(struct trainer *t, int64_t end)
{
    const struct config *cfg = t->cfg;

    t->step++;
    if (t->step % cfg->print_freq == 0 || t->step == end || out_of_steps(t))
        end_window(t);
    if (cfg->train.save_steps && t->step % cfg->train.save_steps == 0 && t->step < end)
        save(t, false, false);
}

/* The workers fill their ring from here on; asking twice for one place costs nothing. */
static void load_from(struct trainer *t, int64_t epoch, int64_t batch)
{
    int64_t place = epoch * loader_batches(t->feed.train_loader) + batch;

    if (t->loading != place)
        loader_start_epoch(t->feed.train_loader, (uint64_t)epoch, batch);
    t->loading = place;
}

/* False: the batch was not the last of its update. */
static bool train_batch(struct trainer *t)
{
    const struct batch *b = loader_next(t->feed.train_loader);
    bool update, replayed = t->replay && !--t->replay;

    if (!b)
        BUG("epoch %lld has no batch for update %lld", (long long)t->state.epoch,
            (long long)t->step);
    t->loading = -1;
    update = session_step(&t->session, b->pixel, b->label);
    loader_release_batch(t->feed.train_loader, b);
    if (replayed)
        session_set_metrics(&t->session, &t->state.train);
    t->train_images += t->session.plan.batch;
    return update;
}

/* False: a signal, or MAX_STEPS. */
static bool train_epoch(struct trainer *t)
{
    const struct plan *p = &t->session.plan;
    int64_t first = t->state.epoch * p->updates_per_epoch, images = t->train_images;
    int64_t end = first + p->updates_per_epoch;
    double began = clock_now(), seconds;

    session_mix(&t->session, t->state.epoch < p->mix_off_epoch);
    if (t->step < end)
        load_from(t, t->state.epoch,
                  accumulation_micro(&p->accumulation, t->step - first));
    begin_window(t);
    while (t->step < end && !signals_pending() && !out_of_steps(t)) {
        if (!train_batch(t))
            continue;
        after_update(t, end);
        show(t, began);
    }
    progress_wipe();
    seconds = clock_now() - began;
    t->train_seconds += seconds;
    t->epoch_rate = (double)(t->train_images - images) / (seconds + 1e-9);
    if (t->step == end && t->state.epoch + 1 < t->cfg->train.epochs)
        load_from(t, t->state.epoch + 1, 0); /* while we validate */
    return t->step == end;
}

/* ---- epochs ---- */

static bool validate(struct trainer *t)
{
    struct evaluation e;

    if (!evaluate(&t->session, &t->feed, "Val", &e))
        return false;
    evaluate_log(&e);
    t->val = evaluate_line(&e);
    t->val.step = t->step;
    t->val.epoch = t->state.epoch;
    t->state.val_loss = t->val.val_loss;
    t->state.val_top1 = t->val.val_top1;
    t->state.val_top5 = t->val.val_top5;
    t->state.ema_top1 = t->val.ema_top1;
    output_val(&t->output, &t->val);
    return true;
}

/* Is this the best so far, with the weights or with their average? */
static bool judge(struct trainer *t)
{
    double top1 = t->val.val_top1;
    bool best;

    if (t->val.ema_top1 > top1)
        top1 = t->val.ema_top1;
    best = top1 > t->state.best_top1;
    if (best) {
        t->state.best_top1 = top1;
        t->state.best_epoch = t->state.epoch;
    }
    log_info("Max accuracy: %.2f%% (epoch %lld)", t->state.best_top1,
             (long long)t->state.best_epoch);
    return best;
}

static void finish_epoch(struct trainer *t, double began)
{
    const struct metrics *m = &t->state.train;
    struct epoch_line l = {
        .epoch = t->state.epoch,
        .train_loss = metrics_loss(m),
        .train_top1 = metrics_percent(m, m->top1),
        .lr = schedule_lr(&t->session.plan.schedule, t->step - 1),
        .images_per_second = t->epoch_rate,
        .seconds = clock_now() - began,
        .val = t->val,
    };

    output_epoch(&t->output, &l);
    t->state.train_loss = l.train_loss;
    t->state.train = (struct metrics){0};
    session_set_metrics(&t->session, &t->state.train);
    t->state.epoch++;
}

/* False: the run is over before its last epoch. */
static bool run_epoch(struct trainer *t)
{
    const struct config *cfg = t->cfg;
    int64_t number = t->state.epoch + 1;
    bool last = number == cfg->train.epochs, best = false;
    double began = clock_now();

    if (!train_epoch(t))
        return false;
    t->val = no_val;
    if (number % cfg->train.eval_freq == 0 || last) {
        if (!validate(t))
            return false;
        best = judge(t);
    }
    finish_epoch(t, began);
    if (number % cfg->save_freq == 0 || last || best)
        save(t, true, best);
    return !signals_pending() && !out_of_steps(t);
}

static int leave(struct trainer *t)
{
    int sig = signals_pending();
    bool done = t->state.epoch >= t->cfg->train.epochs, best = false;

    if (sig && !done)
        log_info("%s: %sleaving at update %lld", signals_name(sig),
                 t->replay ? "" : "saving and ", (long long)t->step);
    if (!sig && !done && t->val.step != t->step) /* MAX_STEPS within an epoch */
        best = validate(t) && judge(t);
    if (!done && !t->replay && (best || t->saved_step != t->step))
        save(t, false, best);
    if (t->save_failed)
        log_warning("the last checkpoint could not be saved");
    if (t->save_failed)
        return EXIT_FAILED;
    if (!sig || done)
        return EXIT_OK;
    return t->cfg->train.signal_exit_code ? (int)t->cfg->train.signal_exit_code
                                          : 128 + sig;
}

static void fill_result(struct trainer *t)
{
    struct result *r = &t->result;

    r->epochs = t->state.epoch;
    r->steps = t->step;
    r->train_loss =
        t->state.train.count ? metrics_loss(&t->state.train) : t->state.train_loss;
    r->val_loss = t->state.val_loss;
    r->val_top1 = t->state.val_top1;
    r->val_top5 = t->state.val_top5;
    r->ema_top1 = t->state.ema_top1;
    if (t->train_images)
        r->images_per_second = (double)t->train_images / (t->train_seconds + 1e-9);
    r->peak_memory_bytes = (int64_t)t->session.backend->peak_memory(t->session.device);
}

static void close_all(struct trainer *t)
{
    feed_close(&t->feed);
    session_release(&t->session);
    output_close(&t->output);
}

int trainer_train(const struct config *cfg, const char *result)
{
    struct trainer t = {.cfg = cfg, .last_loss = NAN, .saved_step = -1, .loading = -1};
    int code;

    result_begin(&t.result, result);
    signals_install();
    start(&t);
    if (t.state.epoch >= cfg->train.epochs)
        log_info("all %lld epochs are done already", (long long)cfg->train.epochs);
    while (t.state.epoch < cfg->train.epochs && run_epoch(&t))
        ;
    code = leave(&t);
    fill_result(&t);
    close_all(&t);
    return result_end(&t.result, code);
}
