#include "train/trainer.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "dist/group.h"
#include "session/devices.h"
#include "session/fit.h"
#include "session/state.h"
#include "train/evaluate.h"
#include "train/hooks.h"
#include "train/progress.h"
#include "train/report_hooks.h"
#include "train/signals.h"
#include "train/trainer_run.h"

bool trainer_asked_to_stop(struct trainer *t)
{
    bool diverged = t->diverged != NULL, asked = feed_agree(&t->feed, &diverged);

    if (diverged && !t->diverged)
        t->diverged = xasprintf("the run has diverged (detected by another process)");
    return asked;
}

/* Makes the loader start at this batch; a second call for the same batch does nothing. */
static void load_from(struct trainer *t, int64_t epoch, int64_t batch)
{
    int64_t place = epoch * loader_batches(t->feed.train_loader) + batch;

    if (t->loading != place)
        loader_start_epoch(t->feed.train_loader, (uint64_t)epoch, batch);
    t->loading = place;
}

/* True if the run must stop here because of a signal, a failure, or TRAIN.MAX_STEPS. */
static bool stopped(struct trainer *t)
{
    return trainer_asked_to_stop(t) || trainer_out_of_steps(t, t->step);
}

/* Same between the batches of an epoch. If the processes would have to wait for their
 * devices, they only agree once one of them has voted (session/vote.h). */
static bool stopped_in_epoch(struct trainer *t)
{
    if (t->session.plan.votes && !session_voted_to_stop(&t->session))
        return trainer_out_of_steps(t, t->step);
    if (t->session.plan.votes)
        session_drain(&t->session);
    return stopped(t);
}

/* Trains on one batch. Returns true if it completed a step; false also if the loader
 * failed. */
static bool train_batch(struct trainer *t)
{
    struct lent_batch lent;
    bool taken = feed_next(&t->feed, &t->session, &lent);
    bool update, replayed;
    int64_t before = t->train_images;

    if (!taken && feed_failure(&t->feed) && dist_world() > 1)
        die("%s", feed_failure(&t->feed)); /* others wait for this batch's gradients */
    if (!taken && feed_failure(&t->feed))
        return false;
    if (!taken)
        BUG("epoch %lld has no batch for update %lld", (long long)t->state.epoch,
            (long long)t->step);
    lent.stop = feed_wants_stop(&t->feed, t->diverged != NULL);
    t->loading = -1;
    t->train_images += session_next_batch(&t->session) * t->session.plan.world;
    replayed = t->replay && !--t->replay;
    dist_at(t->step + 1);
    update = session_step_lent(&t->session, &lent);
    if (replayed)
        session_set_metrics(&t->session, &t->state.train);
    if (!before)
        t->result.first_step_seconds = clock_now() - t->result.began;
    return update;
}

/* Returns false if training stopped within the epoch. */
static bool train_epoch(struct trainer *t)
{
    const struct plan *p = &t->session.plan;
    int64_t first = t->state.epoch * p->updates_per_epoch, images = t->train_images;
    double seconds;

    t->epoch_began = clock_now();
    t->epoch_end = first + p->updates_per_epoch;
    t->epoch_from = t->step - first;
    if (t->state.epoch == p->mix_off_epoch)
        trainer_collect(t); /* the writer reads the layout of programs released here */
    trainer_hold(t);
    session_mix(&t->session, t->state.epoch < p->mix_off_epoch);
    if (t->step < t->epoch_end)
        load_from(t, t->state.epoch, accumulation_micro(&p->accumulation, t->epoch_from));
    trainer_window_clock(t);
    t->epoch_loader = loader_stats(t->feed.train_loader);
    while (t->step < t->epoch_end && !stopped_in_epoch(t)) {
        if (!train_batch(t))
            continue;
        t->step++;
        hooks_call(t, HOOK_STEP);
    }
    feed_drop(&t->feed);
    trainer_settle(t);
    progress_wipe();
    seconds = clock_now() - t->epoch_began;
    t->train_seconds += seconds;
    trainer_say_waits(t, seconds);
    t->epoch_rate = (double)(t->train_images - images) / (seconds + 1e-9);
    if (t->step == t->epoch_end && t->state.epoch + 1 < t->cfg->train.epochs)
        load_from(t, t->state.epoch + 1, 0); /* prefetch during validation */
    return t->step == t->epoch_end;
}

static void say_memory(struct trainer *t)
{
    char *when = xasprintf("after epoch %lld", epoch_shown(t->state.epoch));

    fit_settle(&t->session);
    fit_report(&t->session, when);
    free(when);
}

static void finish_epoch(struct trainer *t)
{
    struct metrics all = metrics_of_all(&t->state.train), *m = &all;

    t->epoch_line = (struct epoch_line){
        .epoch = t->state.epoch,
        .train_loss = metrics_loss(m),
        .train_right = trainer_right(t, m),
        .lr = trainer_lr(t, t->step - 1),
        .images_per_second = t->epoch_rate,
        .seconds = clock_now() - t->epoch_began,
        .val = t->val,
    };
    say_memory(t);
    t->state.train_loss = t->epoch_line.train_loss;
    t->state.train = t->state.window = (struct metrics){0};
    session_set_metrics(&t->session, &t->state.train);
    t->state.epoch++;
    hooks_call(t, HOOK_EPOCH);
}

/* Sets t->diverged if the epoch so far has no valid sample, or none with a finite loss. */
static void check_losses(struct trainer *t)
{
    struct metrics all = metrics_of_all(&t->state.train), *m = &all;

    (void)trainer_asked_to_stop(t);
    if (t->diverged || !m->runs)
        return;
    if (!m->count)
        t->diverged = xasprintf("nothing to learn from in epoch %lld: no image could be "
                                "read, or all labels are ignored",
                                epoch_shown(t->state.epoch));
    else if (!(m->measured > 0) && m->nonfinite)
        t->diverged = xasprintf("the run has diverged: no loss of epoch %lld is finite; "
                                "the last checkpoints are from before",
                                epoch_shown(t->state.epoch));
}

/* Returns false if the run must end before its last epoch. */
static bool run_epoch(struct trainer *t)
{
    const struct config *cfg = t->cfg;
    int64_t number = t->state.epoch + 1;
    bool last = number == cfg->train.epochs;

    t->is_best = false;
    if (!train_epoch(t))
        return false;
    check_losses(t);
    if (t->diverged)
        return false;
    trainer_say_cache(t);
    if (!trainer_average(t))
        return false;
    t->val = trainer_no_val();
    if ((number % cfg->train.eval_freq == 0 || last) &&
        !trainer_validates_in_background(t) && !trainer_validate(t))
        return false;
    finish_epoch(t);
    return !stopped(t);
}

/* Validates a run that TRAIN.MAX_STEPS ends within an epoch. */
static void validate_late(struct trainer *t)
{
    if (!trainer_validates_in_background(t))
        t->late_val = trainer_validate(t);
    else if (t->step % t->session.plan.updates_per_epoch)
        t->late_val = t->wants_validation = true;
}

static void leave(struct trainer *t)
{
    bool done = t->state.epoch >= t->cfg->train.epochs;
    bool asked = trainer_asked_to_stop(t);

    t->is_best = false;
    check_losses(t);
    if (!t->diverged && !asked && !done && t->state.val_step != t->step)
        validate_late(t);
    hooks_call(t, HOOK_END);
    report_catch_up(t);
    dist_barrier(); /* the last checkpoint is written before any process exits */
}

static void close_all(struct trainer *t)
{
    background_close(&t->background);
    session_drain(&t->session);
    saves_release(&t->saves);
    hook_commands_release(&t->commands);
    feed_close(&t->feed);
    session_release(&t->session);
    evaluate_release(&t->evaluation);
    output_close(&t->output);
    free(t->checkpoint);
    dist_close();
}

/* Logs why there is nothing to do, if so. */
static void log_done(const struct trainer *t)
{
    const struct config_train *c = &t->cfg->train;

    if (!c->epochs)
        log_info("nothing to do: TRAIN.EPOCHS is 0");
    else if (t->state.epoch >= c->epochs)
        log_info("nothing to do: all %lld epochs are already done", (long long)c->epochs);
    else if (trainer_out_of_steps(t, t->step))
        log_info("nothing to do: all %lld steps of TRAIN.MAX_STEPS are already done",
                 (long long)c->max_steps);
}

/* The arguments of trainer_train, for each of its threads. */
struct train_call {
    struct config *cfg;
    const char *result;
};

static int train(void *arg)
{
    struct config *cfg = ((struct train_call *)arg)->cfg;
    const char *result = ((struct train_call *)arg)->result;
    struct trainer t = {.cfg = cfg, .last_loss = NAN, .loading = -1};
    int code;

    dist_open(cfg->dist.timeout);
    result_begin(&t.result, dist_is_first() ? result : NULL,
                 (int)cfg->train.signal_exit_code);
    signals_install((int)cfg->train.signal_exit_code);
    trainer_start(&t, cfg);
    signals_started();
    hooks_call(&t, HOOK_START);
    dist_barrier();
    feed_start(&t.feed, &t.session);
    log_done(&t);
    while (t.state.epoch < cfg->train.epochs && !t.enough && run_epoch(&t))
        ;
    leave(&t);
    trainer_fill_result(&t);
    report_end(&t);
    if (feed_failure(&t.feed))
        die("%s", feed_failure(&t.feed));
    if (t.diverged)
        die("%s", t.diverged);
    code = result_end(&t.result, t.code);
    close_all(&t);
    return code;
}

int trainer_train(struct config *cfg, const char *result)
{
    return device_threads(cfg, train, &(struct train_call){cfg, result});
}
