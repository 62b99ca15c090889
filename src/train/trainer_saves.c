/* Hooks that save checkpoints and delete old ones. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "dist/group.h"
#include "session/state.h"
#include "train/hooks.h"
#include "train/signals.h"
#include "train/trainer_run.h"

/* True if the last gradients were not finite and no dynamic loss scale explains it: there
 * is nothing new to save. */
static bool is_stuck(const struct trainer *t)
{
    return !t->session.plan.scaler.dynamic && session_control(&t->session).skipped_row;
}

/* Sums the metrics over all processes; the first process writes the checkpoint. */
static void save_state(struct trainer *t, struct run_state state, bool epoch_end)
{
    struct run_state before;

    state.train = metrics_of_all(&state.train);
    state.window = metrics_of_all(&state.window);
    before = state;
    before.best_score = t->best_score_before;
    before.best_epoch = t->best_epoch_before;
    t->merged = false;
    t->to_validate = t->wants_validation;
    t->wants_validation = false;
    if (t->background.dir)
        background_begin_save(&t->background);
    if (dist_is_first())
        saves_start(&t->saves, &t->session, &state, t->is_best ? &before : NULL,
                    epoch_end);
    else
        session_lend(&t->session);
}

void trainer_save(struct trainer *t, bool epoch_end)
{
    trainer_collect(t);
    (void)trainer_asked_to_stop(t);
    if (!epoch_end && !t->diverged && is_stuck(t))
        log_warning("skipping the checkpoint at step %lld: its gradients were not finite",
                    (long long)t->step);
    if (t->diverged || (!epoch_end && is_stuck(t)))
        return;
    t->saved_step = t->step;
    t->state.axis = output_axis(&t->output, t->step);
    if (!epoch_end)
        t->state.train = session_metrics(&t->session);
    save_state(t, t->state, epoch_end);
}

static bool step_due(const struct trainer *t)
{
    return t->cfg->train.save_steps && t->step % t->cfg->train.save_steps == 0;
}

static void at_step(struct trainer *t)
{
    if (saves_ready(&t->saves))
        trainer_collect(t);
    if (!step_due(t) || t->step >= t->epoch_end) /* at_epoch saves at the end */
        return;
    trainer_settle(t);
    t->is_best = false;
    trainer_save(t, false);
}

static void at_epoch(struct trainer *t)
{
    bool last = t->state.epoch == t->cfg->train.epochs;

    t->wants_validation = trainer_background_due(t);
    if (t->state.epoch % t->cfg->save_freq == 0 || last || t->is_best || step_due(t) ||
        t->wants_validation)
        trainer_save(t, true);
}

int trainer_signal_code(const struct trainer *t)
{
    int code = (int)t->cfg->train.signal_exit_code;

    return code ? code : 128 + signals_pending();
}

static int exit_code(const struct trainer *t)
{
    bool done = t->state.epoch >= t->cfg->train.epochs;

    if (t->diverged || t->save_failed || feed_failure(&t->feed))
        return EXIT_FAILED;
    return !signals_pending() || done ? EXIT_OK : trainer_signal_code(t);
}

/* Saves an unfinished epoch and waits for the checkpoint being written. */
static void at_end(struct trainer *t)
{
    bool done = t->state.epoch >= t->cfg->train.epochs;
    bool unsaved = !done && !t->replay && t->saved_step != t->step;
    int64_t epoch_end = t->state.epoch * t->session.plan.updates_per_epoch;
    int sig = signals_pending();

    (void)trainer_asked_to_stop(t);
    if (sig && !done && !t->diverged)
        log_info("%s: %sstopping at step %lld", signals_name(sig),
                 unsaved ? "saving and " : "", (long long)t->step);
    /* A validation after the checkpoint overwrites it under the same name. */
    if (!t->diverged && (unsaved || t->late_val))
        trainer_save(t, t->late_val && t->step == epoch_end);
    trainer_collect(t);
    if (t->save_failed && !t->diverged)
        log_warning("could not save the last checkpoint");
    t->code = exit_code(t);
}

void trainer_collect(struct trainer *t)
{
    struct saves_end end = saves_wait(&t->saves);

    if (!end.any)
        return;
    t->save_failed = end.failed || end.best_lost;
    if (end.best_lost) {
        t->state.best_score = t->best_score_before;
        t->state.best_epoch = t->best_epoch_before;
    }
    if (end.diverged && !t->diverged)
        t->diverged = xasprintf("the run has diverged: '%s' is not finite; the last "
                                "checkpoints are from before step %lld",
                                end.diverged, (long long)t->saved_step);
    free(end.diverged);
    if (end.failed)
        return;
    free(t->checkpoint);
    t->checkpoint = saves_path(&t->saves);
    hooks_call(t, HOOK_CHECKPOINT);
}

/* TRAIN.KEEP_CHECKPOINTS */
static void rotate(struct trainer *t)
{
    saves_rotate(&t->saves);
}

const struct hook hook_checkpoints = {
    .name = "checkpoints",
    .run = {[HOOK_STEP] = at_step, [HOOK_EPOCH] = at_epoch, [HOOK_END] = at_end},
};

const struct hook hook_rotation = {
    .name = "rotation",
    .run = {[HOOK_CHECKPOINT] = rotate},
};
