#include "train/trainer.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "dist/group.h"
#include "session/fit.h"
#include "train/evaluate.h"
#include "train/progress.h"
#include "train/signals.h"
#include "train/trainer_run.h"

/* Gradients that are not finite, and no loss scale to blame: nothing new to keep. */
static bool is_stuck(const struct trainer *t)
{
    return !t->session.plan.scaler.dynamic && session_control(&t->session).skipped_row;
}

/* What ends one process ends them all; each asks at the same places. */
static bool is_asked_to_stop(struct trainer *t)
{
    bool diverged = t->diverged != NULL, asked = feed_agree(&t->feed, &diverged);

    if (diverged && !t->diverged)
        t->diverged = xasprintf("the run has diverged, as another process found");
    return asked;
}

/* What a checkpoint tells is of all processes, and the first one writes it. */
static void save_state(struct trainer *t, struct run_state state, bool epoch_end,
                       bool best)
{
    struct run_state before;

    state.train = metrics_of_all(&state.train);
    state.window = metrics_of_all(&state.window);
    before = state;
    before.best_score = t->best_score_before;
    before.best_epoch = t->best_epoch_before;
    if (dist_is_first())
        saves_start(&t->saves, &t->session, &state, best ? &before : NULL, epoch_end);
}

static void save(struct trainer *t, bool epoch_end, bool best)
{
    trainer_collect(t);
    (void)is_asked_to_stop(t);
    if (!epoch_end && !t->diverged && is_stuck(t))
        log_warning("no checkpoint at update %lld: its gradients were not finite",
                    (long long)t->step);
    if (t->diverged || (!epoch_end && is_stuck(t)))
        return;
    t->saved_step = t->step;
    t->state.axis = output_axis(&t->output, t->step);
    if (!epoch_end)
        t->state.train = session_metrics(&t->session);
    save_state(t, t->state, epoch_end, best);
}

static bool save_due(const struct trainer *t)
{
    return t->cfg->train.save_steps && t->step % t->cfg->train.save_steps == 0;
}

/* What the result says at any time: a run may die, and a sweep reads how far it came. */
static void fill_progress(struct trainer *t)
{
    struct result *r = &t->result;

    r->epochs = t->state.epoch;
    r->steps = t->step;
    r->train_loss =
        t->state.train.count ? metrics_loss(&t->state.train) : t->state.train_loss;
    r->val = t->state.val;
    r->ema = t->state.ema;
    r->val_iou = t->state.val_iou;
    r->classes = &t->feed.classes;
    r->best = score_best(t->session.plan.model->family->task);
    r->best_score = t->state.best_score;
    r->best_epoch = t->state.best_epoch;
}

/* After each update. */
static void after_update(struct trainer *t, int64_t end)
{
    t->step++;
    fill_progress(t);
    trainer_observe(t, end);
    if (saves_ready(&t->saves))
        trainer_collect(t);
    if (save_due(t) && t->step < end) { /* at the end: with the epoch */
        trainer_settle(t, end);
        save(t, false, false);
    }
}

/* The workers fill their ring from here on; asking twice for one place costs nothing. */
static void load_from(struct trainer *t, int64_t epoch, int64_t batch)
{
    int64_t place = epoch * loader_batches(t->feed.train_loader) + batch;

    if (t->loading != place)
        loader_start_epoch(t->feed.train_loader, (uint64_t)epoch, batch);
    t->loading = place;
}

/* Leave before the run is over? */
static bool stopped(struct trainer *t)
{
    return is_asked_to_stop(t) || trainer_out_of_steps(t, t->step);
}

/* False: the batch was not the last of its update, or there was none. */
static bool train_batch(struct trainer *t)
{
    const struct batch *b = loader_next(t->feed.train_loader);
    struct lent_batch lent;
    bool update, replayed;
    int64_t before = t->train_images;

    if (!b && feed_failure(&t->feed) && dist_world() > 1)
        die("%s", feed_failure(&t->feed)); /* the others wait for this batch's gradient */
    if (!b && feed_failure(&t->feed))
        return false;
    if (!b)
        BUG("epoch %lld has no batch for update %lld", (long long)t->state.epoch,
            (long long)t->step);
    t->loading = -1;
    t->train_images += session_next_batch(&t->session) * t->session.plan.world;
    replayed = t->replay && !--t->replay;
    lent = feed_lend(t->feed.train_loader, b);
    update = session_step_lent(&t->session, &lent);
    if (replayed)
        session_set_metrics(&t->session, &t->state.train);
    if (!before)
        t->result.first_step_seconds = clock_now() - t->result.began;
    return update;
}

/* False: stopped within the epoch. */
static bool train_epoch(struct trainer *t)
{
    const struct plan *p = &t->session.plan;
    int64_t first = t->state.epoch * p->updates_per_epoch, images = t->train_images;
    int64_t end = first + p->updates_per_epoch;
    double began = clock_now(), seconds;

    t->epoch_from = t->step - first;
    if (t->state.epoch == p->mix_off_epoch)
        trainer_collect(t); /* the writer reads the layout of programs that go now */
    session_mix(&t->session, t->state.epoch < p->mix_off_epoch);
    if (t->step < end)
        load_from(t, t->state.epoch, accumulation_micro(&p->accumulation, t->epoch_from));
    trainer_window_clock(t);
    t->epoch_loader = loader_stats(t->feed.train_loader);
    while (t->step < end && !stopped(t)) {
        if (!train_batch(t))
            continue;
        after_update(t, end);
        trainer_show(t, began);
    }
    trainer_settle(t, end);
    progress_wipe();
    seconds = clock_now() - began;
    t->train_seconds += seconds;
    trainer_say_waits(t, seconds);
    t->epoch_rate = (double)(t->train_images - images) / (seconds + 1e-9);
    if (t->step == end && t->state.epoch + 1 < t->cfg->train.epochs)
        load_from(t, t->state.epoch + 1, 0); /* while we validate */
    return t->step == end;
}

/* A schedule that waits for better scores has seen another epoch. */
static void judge_epoch(struct trainer *t)
{
    const struct plan *p = &t->session.plan;
    struct plateau *now = &t->state.plateau;
    double before = trainer_lr(t, t->step);
    struct control c;

    if (!p->lr_schedule->judge)
        return;
    if (t->val.step == t->step)
        now->score = trainer_score(t);
    if (isnan(now->score) || t->step <= p->schedule.warmup ||
        !p->lr_schedule->judge(now, &p->schedule))
        return;
    c = session_control(&t->session);
    c.plateau_lr = now->lr;
    session_set_control(&t->session, &c);
    log_info("no better score in more than %lld epochs: learning rate %.6g instead of "
             "%.6g",
             (long long)p->schedule.patience, now->lr, before);
}

static void say_memory(const struct trainer *t)
{
    char *when = xasprintf("after epoch %lld", (long long)t->state.epoch);

    fit_report(&t->session, when);
    free(when);
}

static void finish_epoch(struct trainer *t, double began)
{
    struct metrics all = metrics_of_all(&t->state.train), *m = &all;
    struct epoch_line l = {
        .epoch = t->state.epoch,
        .train_loss = metrics_loss(m),
        .train_right = trainer_right(t, m),
        .lr = trainer_lr(t, t->step - 1),
        .images_per_second = t->epoch_rate,
        .seconds = clock_now() - began,
        .val = t->val,
    };

    output_epoch(&t->output, &l);
    say_memory(t);
    t->state.train_loss = l.train_loss;
    t->state.train = t->state.window = (struct metrics){0};
    session_set_metrics(&t->session, &t->state.train);
    t->state.epoch++;
    judge_epoch(t);
}

/* An epoch, or what was done of it, from which nothing can have been learned. */
static void check_losses(struct trainer *t)
{
    struct metrics all = metrics_of_all(&t->state.train), *m = &all;

    (void)is_asked_to_stop(t);
    if (t->diverged || !m->runs)
        return;
    if (!m->count)
        t->diverged = xasprintf("epoch %lld had nothing to learn from: no image could be "
                                "read, or no label counts",
                                (long long)t->state.epoch);
    else if (!(m->measured > 0) && m->nonfinite)
        t->diverged = xasprintf("the run has diverged: no loss of epoch %lld is finite; "
                                "the checkpoints are those of before",
                                (long long)t->state.epoch);
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
    check_losses(t);
    if (t->diverged)
        return false;
    trainer_say_cache(t);
    t->val = trainer_no_val();
    if ((number % cfg->train.eval_freq == 0 || last) && !trainer_validate(t, &best))
        return false;
    finish_epoch(t, began);
    if (number % cfg->save_freq == 0 || last || best || save_due(t))
        save(t, true, best);
    return !stopped(t);
}

/* Since so many epochs nothing was better (TRAIN.EARLY_STOP). */
static bool early_stop(const struct trainer *t)
{
    int64_t most = t->cfg->train.early_stop;

    return most && t->state.best_score >= 0 &&
           t->state.epoch - 1 - t->state.best_epoch >= most;
}

static int leave(struct trainer *t)
{
    bool done = t->state.epoch >= t->cfg->train.epochs, best = false, validated = false;
    bool unsaved = !done && !t->replay && t->saved_step != t->step;
    bool asked = is_asked_to_stop(t);
    int sig;

    check_losses(t);
    if (t->diverged)
        return EXIT_FAILED;
    if (!asked && !done && t->state.val_step != t->step)
        validated = trainer_validate(t, &best); /* MAX_STEPS within an epoch */
    sig = signals_pending();
    if (sig && !done)
        log_info("%s: %sleaving at update %lld", signals_name(sig),
                 unsaved ? "saving and " : "", (long long)t->step);
    if (unsaved || validated)
        save(t, false, best);
    trainer_collect(t);
    dist_barrier(); /* its checkpoint is there before any process may end */
    if (t->save_failed)
        log_warning("the last checkpoint could not be saved");
    if (t->save_failed)
        return EXIT_FAILED;
    if (!sig || done)
        return EXIT_OK;
    return t->cfg->train.signal_exit_code ? (int)t->cfg->train.signal_exit_code
                                          : 128 + sig;
}

static void fill_device(struct result *r, const struct session *s)
{
    struct device_memory m;

    r->device_open_seconds = s->open_seconds;
    r->peak_memory_bytes = (int64_t)s->backend->peak_memory(s->device);
    if (s->backend->memory && s->backend->memory(s->device, &m))
        r->library_memory_bytes = (int64_t)m.library;
    if (s->backend->waits) {
        struct device_waits w = s->backend->waits(s->device);

        r->device_syncs = w.sync;
        r->device_waits = w.await;
    }
}

static void fill_result(struct trainer *t)
{
    struct result *r = &t->result;

    fill_progress(t);
    if (t->feed.train_loader) {
        struct loader_stats stats = loader_stats(t->feed.train_loader);

        r->train_seconds = t->train_seconds;
        r->data_wait_seconds = stats.wait_seconds;
        r->data_stages = stats.stages;
    }
    if (t->train_images)
        r->images_per_second = (double)t->train_images / (t->train_seconds + 1e-9);
    fill_device(r, &t->session);
    fit_report(&t->session, "at the end");
}

static void close_all(struct trainer *t)
{
    session_drain(&t->session);
    saves_release(&t->saves);
    feed_close(&t->feed);
    session_release(&t->session);
    evaluate_release(&t->evaluation);
    output_close(&t->output);
    dist_close();
}

/* Why a run that was started is over at once. */
static void log_done(const struct trainer *t)
{
    const struct config_train *c = &t->cfg->train;

    if (!c->epochs)
        log_info("TRAIN.EPOCHS is 0: there is nothing to train");
    else if (t->state.epoch >= c->epochs)
        log_info("all %lld epochs are done already", (long long)c->epochs);
    else if (trainer_out_of_steps(t, t->step))
        log_info("the %lld updates of TRAIN.MAX_STEPS are done already",
                 (long long)c->max_steps);
}

int trainer_train(struct config *cfg, const char *result)
{
    struct trainer t = {.cfg = cfg, .last_loss = NAN, .loading = -1};
    int code;

    dist_open(cfg->dist.timeout);
    result_begin(&t.result, dist_is_first() ? result : NULL,
                 (int)cfg->train.signal_exit_code);
    signals_install((int)cfg->train.signal_exit_code);
    trainer_start(&t, cfg);
    signals_started();
    log_done(&t);
    while (t.state.epoch < cfg->train.epochs && !early_stop(&t) && run_epoch(&t))
        ;
    if (t.state.epoch < cfg->train.epochs && early_stop(&t))
        log_info("no better score in %lld epochs since epoch %lld: stopped "
                 "(TRAIN.EARLY_STOP)",
                 (long long)cfg->train.early_stop, (long long)t.state.best_epoch);
    code = leave(&t);
    fill_result(&t);
    if (feed_failure(&t.feed))
        die("%s", feed_failure(&t.feed));
    if (t.diverged)
        die("%s", t.diverged);
    code = result_end(&t.result, code);
    close_all(&t);
    return code;
}
