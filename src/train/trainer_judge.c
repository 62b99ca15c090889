/* Hooks that depend on improving scores: the best checkpoint, the learning rate of the
 * plateau schedule, and early stopping. */
#include <math.h>

#include "base/log.h"
#include "session/state.h"
#include "train/hooks.h"
#include "train/trainer_run.h"

enum score trainer_best(const struct trainer *t)
{
    return score_best(t->cfg, t->session.plan.task);
}

double trainer_score(const struct trainer *t)
{
    enum score index = trainer_best(t);
    double raw = t->val.val.value[index], ema = t->val.ema.value[index];

    return score_is_better(index, ema, raw) ? ema : raw;
}

bool trainer_judge(struct trainer *t, double score, int64_t epoch)
{
    enum score index = trainer_best(t);
    bool best = score_is_better(index, score, t->state.best_score);

    t->judged_epoch = epoch;
    t->best_score_before = t->state.best_score;
    t->best_epoch_before = t->state.best_epoch;
    if (best) {
        t->state.best_score = score;
        t->state.best_epoch = epoch;
    }
    if (isnan(t->state.best_score))
        return false; /* no validation had valid samples */
    if (index == SCORE_MIOU)
        log_info("Max mIoU: %.4f (epoch %lld)", t->state.best_score,
                 epoch_shown(t->state.best_epoch));
    else if (index == SCORE_TOP1)
        log_info("Max accuracy: %.2f%% (epoch %lld)", t->state.best_score,
                 epoch_shown(t->state.best_epoch));
    else
        log_info("Best %s: %.5g (epoch %lld)", score_name(index), t->state.best_score,
                 epoch_shown(t->state.best_epoch));
    return best;
}

/* Sets t->is_best if the weights or the EMA weights have the best score so far. */
static void judge(struct trainer *t)
{
    trainer_collect(t); /* may restore the previous best score */
    t->is_best = trainer_judge(t, trainer_score(t), t->state.epoch);
}

/* Updates the plateau schedule at the end of an epoch. */
static void judge_rate(struct trainer *t)
{
    const struct plan *p = &t->session.plan;
    struct plateau *now = &t->state.plateau;
    double before = trainer_lr(t, t->step);
    struct control c;

    if (!p->lr_schedule->judge)
        return;
    if (t->val.step == t->step) /* plateau expects larger scores to be better */
        now->score = score_rising(trainer_best(t), trainer_score(t));
    if (isnan(now->score) || t->step <= p->schedule.frozen + p->schedule.warmup ||
        !p->lr_schedule->judge(now, &p->schedule))
        return;
    c = session_control(&t->session);
    c.plateau_lr = now->lr;
    session_set_control(&t->session, &c);
    log_info("no better score in more than %lld epochs: reducing the learning rate to "
             "%.6g from %.6g",
             (long long)p->schedule.patience, now->lr, before);
}

/* Stops the run if the score has not improved for TRAIN.EARLY_STOP epochs. An epoch
 * without a score never stops it, because its weights may be the best. */
static void stop_early(struct trainer *t)
{
    int64_t patience = t->cfg->train.early_stop;
    const struct run_state *s = &t->state;
    bool background = trainer_validates_in_background(t);
    int64_t last = background               ? t->judged_epoch
                   : s->val_step == t->step ? s->epoch - 1
                                            : -1;

    if (!patience || isnan(s->best_score) || s->epoch >= t->cfg->train.epochs ||
        last - s->best_epoch < patience)
        return;
    t->enough = true;
    log_info("early stopping: no better score in %lld epochs since epoch %lld "
             "(TRAIN.EARLY_STOP)",
             (long long)patience, epoch_shown(s->best_epoch));
}

const struct hook hook_best = {.name = "best", .run = {[HOOK_EVAL] = judge}};
const struct hook hook_plateau = {.name = "plateau", .run = {[HOOK_EPOCH] = judge_rate}};
const struct hook hook_early_stop = {
    .name = "early_stop",
    .run = {[HOOK_START] = stop_early, [HOOK_EPOCH] = stop_early},
};
